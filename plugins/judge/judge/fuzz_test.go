package judge

import (
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// FuzzSettings decodes any termination block. An accepted one has valid counts and a provider.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{
		"", "{}", `{"type":"judgment","max":3,"min_iterations":"2","consensus":1,"criteria":{"a":[1]}}`, `{"consensus":"+3"}`, `{"consensus":1.0}`,
		`{"judge":{"provider":"mock","attempts":4,"max_failures":null},"on_judge_failure":"fail"}`, `{"judge":{"attempts":5}}`, `{"consensus":"\"3"}`, "[]", "null", `{"Consensus":0}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := &Strategy{getenv: func(string) string { return "" }}
		c, err := s.readSettings(raw)
		if err != nil {
			if failure.KindOf(err) != failure.ConfigInvalid || !strings.HasPrefix(err.Error(), "termination: ") {
				t.Errorf("kind %q of %v", failure.KindOf(err), err)
			}
			return
		}
		if c.MinIterations < 0 || c.Consensus < 1 || c.Judge.Attempts < 1 || c.Judge.Attempts > sdk.MaxQuestionRounds || c.Judge.MaxFailures < 1 || c.Judge.Provider == "" {
			t.Errorf("accepted: %+v", c.Config)
		}
	})
}
