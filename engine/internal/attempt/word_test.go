package attempt

import (
	"context"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// U051: what is said with a resume reaches the agent, whether its prompt has a place for it or not.
func TestWordOfAResume(t *testing.T) {
	for name, tt := range map[string]struct{ prompt, said, want string }{
		"a place for it": {"${CONTEXT}: do it", "test first", "be brief\ntest first: do it"},
		"no place":       {"do it\n", "test ${RESULT} first", "do it\n\ntest ${RESULT} first"},
		"nothing said":   {"do it\n", "", "do it"},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			works := resultWriter(`{"summary":"done"}`)
			b := newFixture(t, agent(func(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
				got = req.Prompt
				return works(ctx, req, x)
			}))
			b.node.Prompt, b.state.Context = tt.prompt, tt.said
			b.run(context.Background(), 1, 1)
			if got != tt.want {
				t.Errorf("prompt %q, want %q", got, tt.want)
			}
		})
	}
}
