package plan_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// FuzzPlan reads any plan.json: its rendering is stable, every query of the plan returns, and no node is yielded
// twice.
func FuzzPlan(f *testing.F) {
	files, err := filepath.Glob("../compile/testdata/plan/*.txtar")
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range txtar.Parse(text).Files {
			if filepath.Ext(part.Name) == ".json" {
				f.Add(part.Data)
			}
		}
	}
	f.Add([]byte(`{"nodes":[{"path":"0","id":"a","kind":"stage","transitions":{"fail":{"to":"a","limit":3}},"termination":{"max":"4"}},{"path":"1","kind":"parallel","providers":["mock",{"name":"mock","as":"b"}],"stages":[{"path":"1.0"}]},{"path":"2","kind":"pipeline","plan":{"nodes":[{"path":"0"}]}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var p plan.Plan
		if json.Unmarshal(text, &p) != nil {
			return
		}
		first, err := json.Marshal(&p)
		if err != nil {
			t.Fatalf("a parsed plan cannot be written: %v", err)
		}
		var back plan.Plan
		if err := json.Unmarshal(first, &back); err != nil {
			t.Fatalf("a written plan cannot be read: %v\n%s", err, first)
		}
		again, err := json.Marshal(&back)
		if diff := cmp.Diff(string(first), string(again)); err != nil || diff != "" {
			t.Fatalf("written twice: %v (-first +second):\n%s", err, diff)
		}
		met := map[*plan.Node]bool{}
		for n := range p.All() {
			if met[n] {
				t.Fatalf("node %q is met twice", n.Path)
			}
			met[n] = true
			for _, o := range []plan.Outcome{plan.OutcomeSuccess, plan.OutcomeFail, plan.OutcomeSkip} {
				p.Route(n, o)
			}
			_, _, _, _ = p.EffectivePolicy(n), p.EffectiveCommands(n), p.CycleLimits(n), n.Termination.Max()
			_, _, _ = p.EffectiveContext(n), p.Next(n.Path), p.Ceilings(n.Path)
			_, _ = n.Inputs.From(), n.Inputs.Select()
		}
		for range p.Hooks() {
			continue
		}
		_, _, _, _ = p.First(), p.ExitAfter(), p.SecretPatterns(), p.UsesArtifacts()
	})
}
