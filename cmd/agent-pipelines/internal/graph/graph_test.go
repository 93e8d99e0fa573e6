package graph_test

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/graph"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// allKinds has a node of each kind, and an edge to each kind of target.
func allKinds() *plan.Plan {
	mock := &plan.Provider{Type: "mock"}
	stage := func(path, id string) plan.Node {
		return plan.Node{Path: path, ID: id, Kind: plan.KindStage, Ref: id, Provider: mock}
	}
	first, check, last := stage("0", "plan"), stage("3", "check"), stage("4", "last")
	first.SkipWhen = `known == "<all>" &&` + "\n" + `len(questions) == 0 && priority != "blocking"`
	first.Transitions = map[plan.Outcome]plan.Edge{plan.OutcomeSkip: {To: plan.ToNext}}
	check.Ref = "review"
	check.Checks = []plan.Check{{ID: "tests"}}
	check.Transitions = map[plan.Outcome]plan.Edge{
		plan.OutcomeFail: {To: "plan"}, plan.OutcomeReject: {To: "plan", Limit: 1}, plan.OutcomeError: {To: plan.ToAbort},
		plan.OutcomeTimeout: {To: plan.ToAbort}, plan.OutcomeEscalate: {To: plan.ToPause}, plan.OutcomeRetry: {To: plan.ToRetry},
	}
	last.Termination = plan.Termination{"type": plan.TypeJudgment, "max": 5}
	once := plan.Termination{"type": plan.TypeFixed, "max": 3}
	inside := stage("0", "within")
	inside.Termination = once
	return &plan.Plan{
		Pipeline: plan.Pipeline{Name: `whole "pipe"`, Overrides: &plan.Overrides{PathOverrides: plan.PathOverrides{Skip: []string{"last"}}}},
		Nodes: []plan.Node{
			first,
			{
				Path: "1", ID: "both", Kind: plan.KindParallel, Providers: []plan.BlockProvider{{Name: "mock"}, {Name: "mock", As: "second"}},
				Stages: []plan.Node{stage("1.0", "look"), stage("1.1", "say")},
			},
			{Path: "2", ID: "inner", Kind: plan.KindPipeline, Ref: "other", Runs: 2, Plan: &plan.Plan{Nodes: []plan.Node{inside}}},
			check,
			last,
		},
	}
}

func TestGraph(t *testing.T) {
	g := graph.FromPlan(allKinds())
	for name, write := range map[string]func(io.Writer){"whole.txt": g.Text, "whole.mmd": g.Mermaid, "whole.svg": g.SVG} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			write(&got)
			file := filepath.Join("testdata", name)
			if *update {
				if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(file, []byte(got.String()), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A picture is well-formed whatever names and conditions say, and every edge has a line and a tip.
func TestSVG(t *testing.T) {
	g := graph.FromPlan(allKinds())
	var got strings.Builder
	g.SVG(&got)
	d, tips := xml.NewDecoder(strings.NewReader(got.String())), 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, got.String())
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "path" {
			for _, a := range start.Attr {
				if a.Name.Local == "class" && a.Value == "tip" {
					tips++
				}
			}
		}
	}
	if tips != len(g.Edges) {
		t.Errorf("%d tips for %d edges", tips, len(g.Edges))
	}
}

// A plan without nodes has a graph without boxes.
func TestEmpty(t *testing.T) {
	g := graph.FromPlan(&plan.Plan{})
	var text strings.Builder
	g.Text(&text)
	if text.Len() > 0 {
		t.Errorf("text: %q", text.String())
	}
	for _, write := range []func(io.Writer){g.Mermaid, g.SVG} {
		write(io.Discard)
	}
}
