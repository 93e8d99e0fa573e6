package compare_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/compare"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// session describes one of the two sessions of a test: a loop of node work, and the outputs of its iterations.
type session struct {
	name    string
	outputs []string
	change  func(s *engine.Inspection)
	input   map[string]any // the artifact that the run was started with
	output  map[string]any // the artifact of node work
	model   string
}

func (s session) side() *compare.Snapshot {
	p := &plan.Plan{
		CompiledAt: s.name, Session: plan.Session{Name: s.name}, Pipeline: plan.Pipeline{Name: "poem"},
		Nodes: []plan.Node{
			{Path: "0", ID: "work", Kind: plan.KindStage, Termination: plan.Termination{"type": "fixed", "max": 3}, Prompt: "in /runs/" + s.name + "/library"},
			{Path: "1", ID: "both", Kind: plan.KindParallel, Stages: []plan.Node{{Path: "1.0", ID: "think", Kind: plan.KindStage}}},
		},
	}
	files := map[string]string{}
	side := &compare.Snapshot{
		Clean: func(text string) string { return strings.ReplaceAll(text, "secret", "[out]") },
		Read: func(path string, most int64) (string, bool, error) {
			text, exists := files[path]
			if !exists {
				return "", false, fs.ErrNotExist
			}
			return text[:min(len(text), int(most))], len(text) <= int(most), nil
		},
		Artifact: func(a engine.ArtifactInfo) (*engine.ArtifactContent, error) {
			if a.Node == plan.RequiresStart {
				return &engine.ArtifactContent{Data: s.input}, nil
			}
			return &engine.ArtifactContent{Data: s.output}, nil
		},
	}
	line := timeline.New(p)
	observe := side.Begin(line)
	take := func(e event.Event) {
		entry, _ := line.Apply(e)
		observe(entry)
	}
	take(event.New(event.SessionStart, nil, "", event.SessionStartData{}))
	for i, text := range s.outputs {
		at := event.Location{Node: "0", Visit: 1, Run: 1, Iteration: i + 1}
		ref := event.Ref{Path: fmt.Sprintf("%03d", i+1), SHA256: event.Digest(text)}
		if text != "" {
			files[ref.Path] = text
		}
		take(event.New(event.IterationStart, at.Cursor(), at.Key(event.KeyAttempt, 1), event.IterationStartData{Provider: "mock", Model: s.model}))
		take(event.New(event.IterationComplete, at.Cursor(), at.Key(event.KeyAttempt, 1), event.IterationCompleteData{Output: &ref}))
	}
	at := event.Location{Node: "1.0", Visit: 1, Run: 1, Branch: "codex", Iteration: 1}
	take(event.New(event.IterationStart, at.Cursor(), at.Key(event.KeyAttempt, 1), event.IterationStartData{Provider: "codex"}))
	work := timeline.Work{Iterations: len(s.outputs), Attempts: len(s.name)}
	side.Inspection = &engine.Inspection{
		Plan: p,
		Status: &engine.Status{
			Identity: inspect.Identity{Session: s.name, RunID: "PL-" + s.name, Status: state.Completed}, Pause: inspect.Pause{Reason: "all of PL-" + s.name}, Dir: "/runs/" + s.name,
			Results: inspect.Results{Stages: []inspect.StageResult{{ID: "work", Path: "0", Status: "complete", Outcome: "success", Reason: "enough of it"}, {ID: "both", Path: "1", Kind: plan.KindParallel, Status: "complete"}}},
		},
		Metrics: &engine.Metrics{Pipeline: "poem"},
		History: &engine.History{Visits: []engine.Visit{{Stage: "work", Path: "0", Visit: 1, End: timeline.End{Status: "running"}}}},
	}
	side.Inspection.Metrics.Work, side.Inspection.Metrics.DurationMS = work, int64(len(s.name))
	side.Inspection.Metrics.Stages = []timeline.Stage{{Path: "0", Visits: 1, Work: work}, {Path: "1", Visits: 1}}
	if s.input != nil {
		side.Inspection.Artifacts = append(side.Inspection.Artifacts, engine.ArtifactInfo{Node: plan.RequiresStart, Latest: true})
	}
	if s.output != nil {
		side.Inspection.Artifacts = append(side.Inspection.Artifacts, engine.ArtifactInfo{Node: "work", Path: "0", Latest: true, File: "/runs/" + s.name + "/a.yaml", SHA256: s.name})
	}
	if s.change != nil {
		s.change(side.Inspection)
	}
	return side
}

// A comparison reports differences in a sentence and by kind; names, times and effort do not count as differences.
func TestCompare(t *testing.T) {
	three := []string{"one\n", "two\n", "three\n"}
	status := func(change func(*engine.Status)) func(*engine.Inspection) {
		return func(s *engine.Inspection) { change(s.Status) }
	}
	for _, tt := range []struct {
		name   string
		second session
		differ string
		text   string
	}{
		{"the same", session{}, "", "did the same"},
		{"at work", session{change: status(func(s *engine.Status) { s.Locked = true })}, "", "did the same so far"},
		{
			"failed", session{change: status(func(s *engine.Status) {
				s.Status, s.Stage, s.Failure = state.Failed, "work", &event.FailureData{ErrorType: "provider_failed", Code: "X-1"}
			})}, "status", "differ in status",
		},
		{"crashed", session{change: status(func(s *engine.Status) { s.Crashed, s.Status = true, state.Running })}, "status", "differ in status"},
		{"never began", session{change: func(s *engine.Inspection) { s.Status.Status, s.History, s.Metrics = "", nil, nil }}, "status way", "differ in status, way"},
		{"another reason", session{change: status(func(s *engine.Status) { s.Reason = "no" })}, "status", "differ in status"},
		{"another pipeline", session{change: func(s *engine.Inspection) { s.Metrics.Pipeline, s.Plan.Pipeline.Name = "prose", "prose" }}, "plan", "differ in plan"},
		{"another plan", session{change: func(s *engine.Inspection) { s.Plan.Nodes[0].Termination["max"] = 4 }}, "plan", "differ in plan"},
		{"other inputs", session{input: map[string]any{"original_request": "x", "request_id": "R-9"}}, "inputs", "differ in inputs"},
		{"another way", session{change: func(s *engine.Inspection) { s.History.Visits[0].Visit = 2 }}, "way", "differ in way"},
		{"another verdict", session{change: status(func(s *engine.Status) { s.Stages[0].Reason = "plateau" })}, "nodes", "differ in nodes"},
		{"another model", session{model: "opus"}, "nodes", "differ in nodes"},
		{"another output", session{outputs: []string{"one\n", "zwei\n", "drei\n"}}, "texts", "differ in texts"},
		{"more of them", session{outputs: []string{"one\n", "two\n", "three\n", "four\n"}}, "nodes texts", "differ in nodes, texts"},
		{"another artifact", session{output: map[string]any{"a": 1}}, "texts", "differ in texts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			one := session{name: "a", outputs: three}
			tt.second.name = "other"
			if tt.second.outputs == nil {
				tt.second.outputs = three
			}
			c := compare.Diff(one.side(), tt.second.side())
			if diff := cmp.Diff([]string{tt.differ, tt.text}, []string{strings.Join(c.Differ, " "), c.Text}); diff != "" || c.Equal != (tt.differ == "") {
				t.Errorf("%s\n%+v", diff, c)
			}
		})
	}
}

// Keys of plans are compared node by node, nodes are found by their ids, and secrets and the sessions' own names are left out.
func TestKeys(t *testing.T) {
	a := session{name: "a", input: map[string]any{"goal": "a secret castle", "request_id": "R-1"}}
	b := session{name: "b", input: map[string]any{"goal": "a hut"}, change: func(s *engine.Inspection) {
		n := s.Plan.Nodes
		n[0].Termination, n[0].Context, n[0].Checks = plan.Termination{"type": "fixed"}, "a secret", []plan.Check{{ID: "tests"}}
		s.Plan.Nodes = []plan.Node{{Path: "0", ID: "first", Kind: plan.KindStage}, n[1], n[0]}
		s.Plan.Nodes[1].Stages = []plan.Node{{Path: "1.0", ID: "think", Kind: plan.KindStage, Model: "m"}}
		s.Plan.Pipeline.Overrides = &plan.Overrides{Context: "the sea", Inputs: []string{"x.md"}, Model: "m"}
		s.Plan.Session.Inputs = []string{"/p/x.md"}
	}}
	c := compare.Diff(a.side(), b.side())
	want := []string{
		"work/checks: <nil>, [map[config:<nil> id:tests]]", "work/context: <nil>, a [out]", "work/termination.max: 3, <nil>",
		"both/think/model: <nil>, m", "first/: <nil>, stage", "/order of the nodes: work, both, both, work", "/pipeline.overrides.model: <nil>, m",
	}
	var got []string
	for _, k := range c.Plan {
		got = append(got, fmt.Sprintf("%s/%s: %v, %v", k.Node, k.Key, k.Values[0], k.Values[1]))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = nil
	for _, k := range c.Inputs {
		got = append(got, fmt.Sprintf("%s: %v, %v", k.Key, k.Values[0], k.Values[1]))
	}
	if diff := cmp.Diff([]string{"context: <nil>, the sea", "files: <nil>, [/p/x.md]", "inputs: <nil>, [x.md]", "request.goal: a [out] castle, a hut"}, got); diff != "" {
		t.Error(diff)
	}
}

// The first and the last differing output are listed, also if an output cannot be read, is too long or is missing.
func TestTexts(t *testing.T) {
	long := strings.Repeat("a line\n", 20_000)
	tests := map[string]struct {
		a, b []string
		want []string
	}{
		"first and last": {[]string{"1\n", "x 2\n", "x 3\n", "x 4\n"}, []string{"1\n", "y 2\n", "y 3\n", "y 4\n"}, []string{`[2 2] more 1 cut false "" "@@ -1 +1 @@\n-x 2\n+y 2\n"`, `[4 4] more 0 cut false "" "@@ -1 +1 @@\n-x 4\n+y 4\n"`}},
		"own names":      {[]string{"in /runs/a, PL-a, .claude/pipeline-runs/a/x"}, []string{"in /runs/b, PL-b, .claude/pipeline-runs/b/x\n"}, nil},
		"secrets":        {[]string{"secret 1\n"}, []string{"secret 2\n"}, []string{`[1 1] more 0 cut false "" "@@ -1 +1 @@\n-[out] 1\n+[out] 2\n"`}},
		"lost":           {[]string{""}, []string{"2\n"}, []string{`[1 1] more 0 cut false "file does not exist" ""`}},
		"long, and the same as far as it is read": {[]string{long + "x"}, []string{long + "y"}, []string{`[1 1] more 0 cut true "they differ after their first 65536 bytes" ""`}},
		"of other numbers":                        {[]string{"1\n"}, []string{"1\n", "2\n"}, []string{`[1 2] more 0 cut false "" "@@ -1 +1 @@\n-1\n+2\n"`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := compare.Diff(session{name: "a", outputs: tt.a}.side(), session{name: "b", outputs: tt.b}.side())
			var got []string
			for _, d := range c.Texts {
				got = append(got, fmt.Sprintf("%v more %d cut %v %q %q", d.Iterations, d.More, d.Cut, d.Problem, d.Diff))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	once := compare.Diff(session{name: "a", output: map[string]any{"x": 1}}.side(), session{name: "b"}.side())
	if len(once.Texts) != 1 || once.Texts[0].Files != [2]string{"a.yaml", ""} || once.Texts[0].Kind != "artifact" {
		t.Errorf("%+v", once.Texts)
	}
}

// The list of differences is bounded, and the others are counted.
func TestBounded(t *testing.T) {
	many := func(word string) []string {
		all := make([]string, 6000)
		for i := range all {
			all[i] = fmt.Sprintf("%s %d\n", word, i)
		}
		all[0] = strings.Repeat(word+" of many lines\n", 1000)
		return all
	}
	c := compare.Diff(session{name: "a", outputs: many("x")}.side(), session{name: "b", outputs: many("y")}.side())
	if len(c.Texts) != 2 || c.Texts[0].More != 5998 || c.Texts[1].Iterations != [2]int{6000, 6000} {
		t.Errorf("%d texts, %+v", len(c.Texts), c.LeftOut)
	}
	if lines := strings.Count(c.Texts[0].Diff, "\n"); lines != 120 || !c.Texts[0].Cut {
		t.Errorf("a diff of %d lines", lines)
	}
	for i := range 50 {
		c.Plan = append(c.Plan, compare.Key{Key: fmt.Sprint(i)})
	}
	c.Limit(1)
	if len(c.Plan) != 1 || len(c.Texts) != 1 || len(c.Nodes) != 1 {
		t.Errorf("%+v", c)
	}
	if diff := cmp.Diff(compare.Omissions{Plan: 49, Texts: 1, Nodes: 1}, c.LeftOut); diff != "" {
		t.Error(diff)
	}
}
