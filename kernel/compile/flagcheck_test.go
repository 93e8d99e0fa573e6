package compile_test

import (
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// U018, U251, B6: the flags and the keys of the file make the same hooks, one for each node.
func TestQuestionsOfTheCommandLine(t *testing.T) {
	const nodes = "nodes:\n- {id: a, prompt: x}\n- {id: b, prompt: x, require_human_approval: true}\n- {id: c, prompt: x}\n- {id: d, prompt: x}"
	for name, tt := range map[string]struct {
		yaml string
		over compile.Overrides
		want []string
	}{
		"nothing":              {file(nodes), compile.Overrides{}, []string{"b p.yaml:4:46"}},
		"supervised":           {file(nodes), compile.Overrides{Supervised: true}, []string{"a --supervised", "b p.yaml:4:46", "c --supervised"}},
		"as the file says":     {file("supervised: true", nodes), compile.Overrides{Supervised: true}, []string{"a p.yaml:2:13", "b p.yaml:5:46", "c p.yaml:2:13"}},
		"iterate":              {file(nodes), compile.Overrides{Iterate: []string{"b", "d"}}, []string{"b p.yaml:4:46", "d --iterate"}},
		"both":                 {file(nodes), compile.Overrides{Supervised: true, Iterate: []string{"a", "d"}}, []string{"a --iterate", "b p.yaml:4:46", "c --supervised", "d --iterate"}},
		"the last is the exit": {file("exit_after: c", nodes), compile.Overrides{Supervised: true}, []string{"a --supervised", "b p.yaml:5:46", "d --supervised"}},
		"the command line's":   {file("exit_after: c", "supervised: true", nodes), compile.Overrides{ExitAfter: "a"}, []string{"b p.yaml:6:46", "c p.yaml:3:13", "d p.yaml:3:13"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := must(compilePlan(t, tt.yaml, tt.over, nil))
			var got []string
			for _, h := range p.Pipeline.Hooks {
				if !h.Supervise || !h.AcceptFeedback || h.Action != plan.ActionConfirm || h.Point != plan.PointStageEnd {
					t.Errorf("no question of a supervised run: %+v", h)
				}
				got = append(got, h.Stage+" "+h.Source)
			}
			compare(t, tt.want, got)
		})
	}
}

// U104: the run timeout of the command line replaces that of the file, but not those of embedded pipelines.
func TestTimeoutOfTheRun(t *testing.T) {
	p, err := compilePlan(t, file("policy: {timeout: 60}", "nodes: [{id: a, pipeline: in.yaml}]"), compile.Overrides{Timeout: 90 * time.Second}, map[string]string{
		"in.yaml": "name: in\nguardrails: {max_runtime_seconds: 5}\nnodes: [{id: b, prompt: x}]\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, &plan.Guardrails{MaxRuntimeSeconds: 90, Source: "--timeout"}, p.Pipeline.Guardrails)
	if inner := p.Nodes[0].Plan.Pipeline.Guardrails; inner.MaxRuntimeSeconds != 5 || p.Pipeline.Overrides.Timeout != 90 {
		t.Errorf("inside %+v, overrides %+v", inner, p.Pipeline.Overrides)
	}
}
