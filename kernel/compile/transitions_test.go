package compile_test

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
)

// file returns a pipeline with the lines after its name.
func file(lines ...string) string { return "name: p\n" + strings.Join(lines, "\n") + "\n" }

// compilePlan compiles a file in a directory with other files.
func compilePlan(t *testing.T, text string, over compile.Overrides, others map[string]string) (*plan.Plan, error) {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "p.yaml"), []byte(text))
	for name, text := range others {
		writeFile(t, filepath.Join(dir, name), []byte(text))
	}
	r, err := compile.Pipeline(compile.Request{
		Roots: sources.Roots{Project: dir, Library: library(nil)}, File: "p.yaml", Session: "s",
		Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{}, Overrides: over,
	})
	if err != nil {
		return nil, err
	}
	return r.Plan, nil
}

// A stage that runs alone has no checks: it cannot end by them, and none can fill its kernel fields.
func TestContractOfAStageAlone(t *testing.T) {
	files := library(map[string]string{
		"s":  "role: planner\nartifact: {type: t, version: 2, kernel_fields: {n: checks.tests.counts}}\n",
		"by": "termination: {type: checks, max: 2}\n", "bad": "role: a/b\n",
	})
	for _, name := range []string{"s", "by", "bad"} {
		files["stages/"+name+"/prompt.md"] = &fstest.MapFile{}
	}
	req := compile.Request{
		Roots: sources.Roots{Project: t.TempDir(), Library: files}, Session: "s", Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{},
	}
	r := must(compile.Stage(req, compile.Loop{Stage: "s"}))
	n := r.Plan.Nodes[0]
	if diff := cmp.Diff(&plan.Artifact{Type: "t", Version: "2"}, n.Artifact); diff != "" || n.Role != "planner" || len(r.Warnings) != 1 {
		t.Errorf("role %q, warnings %v, artifact (-want +got):\n%s", n.Role, r.Warnings, diff)
	}
	for name, want := range map[string]string{
		"by":  "a stage that runs alone has no checks and cannot end by them",
		"bad": `role "a/b" contains a slash`,
	} {
		if _, err := compile.Stage(req, compile.Loop{Stage: name}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	dir := must(req.FindStage("by", ""))
	if _, found := compile.CheckStage(req, dir, compile.Loop{Stage: "by"}); found.HasErrors() {
		t.Errorf("faults: %v", found)
	}
}

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
