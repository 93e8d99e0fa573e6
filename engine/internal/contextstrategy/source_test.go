package contextstrategy_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/contextstrategy"
	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

const planArtifact = `_artifact_meta: {stage_name: plan, created_at: "2026-01-01T00:00:00Z"}
goal: Greet the world
version: 1
tasks:
  - id: t1
    title: Say hello
    acceptance_criteria: [it says hello, it ends with a newline]
    steps:
      - {id: s1, title: Write it, files: [hello.go, missing.go], verification: it compiles}
      - {id: s2, title: Test it, file: hello_test.go, verification: tests pass}
_metadata: {duration_seconds: 3.5}
`

// fixture is a session with four entered nodes: plan, execute with steps, verify and review.
type fixture struct {
	t     *testing.T
	root  string
	dir   *store.Dir
	plan  *plan.Plan
	state state.State
	src   contextstrategy.Source
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	root := t.TempDir()
	project, dir := testkit.Session(t, root, "demo")
	p := &plan.Plan{
		Session: plan.Session{Inputs: []string{filepath.Join(root, "docs/request.md")}},
		Nodes: []plan.Node{
			{Path: "0", ID: "plan", Kind: plan.KindStage, Context: "the old talk", Artifact: &plan.Artifact{}},
			{Path: "1", ID: "execute", Kind: plan.KindStage, Steps: &plan.Steps{From: "plan", Path: "tasks[*].steps[*]"}, Inputs: plan.Inputs{"from": []byte(`"plan"`)}},
			{Path: "2", ID: "verify", Kind: plan.KindStage, Transitions: map[plan.Outcome]plan.Edge{plan.OutcomeFail: {To: "execute"}}},
			{Path: "3", ID: "review", Kind: plan.KindStage, Transitions: map[plan.Outcome]plan.Edge{plan.OutcomeReject: {To: "plan"}}},
		},
	}
	h := &fixture{t: t, root: root, dir: dir, plan: p}
	h.putFile("docs/request.md", "Please greet the world.\n")
	h.putFile("hello.go", "package hello\n")
	h.putFile("hello_test.go", "package hello // its test\n")
	h.putFile(".git/config", "hello.go\n")
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	node := func(i int) state.Node {
		return state.Node{NodeProgress: state.NodeProgress{Visit: 1, Run: 1, StartedAt: start.Add(time.Duration(i) * time.Second)}}
	}
	planned, executed, verified := node(0), node(1), node(2)
	planned.Loop.Completed = 1
	planned.Artifacts = map[string]event.Ref{event.Artifact: h.file("artifacts/00-plan.v1.yaml", planArtifact)}
	item := h.file("steps/s1.json", `{"id":"s1","title":"Write it","files":["hello.go","missing.go"],"verification":"it compiles"}`)
	executed.Order = []string{"s1", "s2"}
	executed.Steps = map[string]state.Step{"s1": {Status: state.StepComplete, Last: 1, StepData: event.StepData{ID: "s1", Title: "Write it", Item: item}}}
	item = h.file("steps/s2.json", `{"id":"s2","title":"Test it","file":"hello_test.go","verification":"tests pass"}`)
	executed.Steps["s2"] = state.Step{Status: state.StepFailed, Reason: "the test\nis red", Last: 1, StepData: event.StepData{ID: "s2", Title: "Test it", Item: item}}
	verified.Loop.Completed = 2
	facts := h.file("facts.json", `{"duration_ms": 5, "counts": {"failed": 1, "passed": 2}, "failed": ["TestHello"], "output": "--- FAIL\nexit 1\n"}`)
	verified.Loop.Measured = []state.Measurement{
		{ID: "build", At: plan.AtExit, Passed: true},
		{ID: "tests", At: plan.AtExit, Reason: "1 test failed", Facts: &facts},
		{ID: "lint", At: plan.AtExit, Failure: &event.FailureData{Message: "no linter"}},
	}
	h.state.Identity, h.state.At = state.Identity{Session: "demo", Mode: "pipeline"}, "3"
	h.state.Nodes = map[string]state.Node{"0": planned, "1": executed, "2": verified, "3": node(3)}
	h.state.Cycles = map[string]state.Cycle{
		"verify:fail->execute": {Count: 2, Limit: 3, Reasons: []string{"red", "red again"}},
		"review:reject->plan":  {Count: 1, Limit: 3, Reasons: []string{"not\nenough"}},
	}
	h.iteration("stage-00-plan", 1, "I have a plan.", "")
	h.iteration("stage-01-execute/steps/s1", 1, "Wrote it.", `{"work": {"files_touched": ["hello.go"]}}`)
	h.iteration("stage-01-execute/steps/s2", 1, "Could not test it.", `{"work": {"files_touched": ["hello_test.go", "gone.go"]}}`)
	h.iteration("stage-02-verify", 1, "First look.", "")
	h.iteration("stage-02-verify", 2, "Second look.", `{"work": {"files_touched": []}}`)
	h.src = contextstrategy.Source{Effect: &effect.Effect{Env: &effect.Env{Plan: p, Project: project, Dir: dir, Inputs: inputs.NewReader(dir, p)}}}
	return h
}

func (h *fixture) putFile(name, text string) {
	h.t.Helper()
	file := filepath.Join(h.root, name)
	testkit.OK(h.t, os.MkdirAll(filepath.Dir(file), 0o755))
	testkit.OK(h.t, os.WriteFile(file, []byte(text), 0o600))
}

func (h *fixture) file(name, text string) event.Ref {
	h.t.Helper()
	return testkit.Must(h.dir.Write(name, []byte(text)))
}

// appendEvent appends an event to the journal.
func (h *fixture) appendEvent(e event.Event) {
	h.t.Helper()
	e.Session, e.Time, e.Seq = "demo", time.Now(), 1
	testkit.OK(h.t, h.dir.Append(store.EventsFile, bytes.TrimRight(testkit.Must(e.AppendLine(nil)), "\n")))
}

func (h *fixture) iteration(node string, i int, output, result string) {
	it := store.Node(node).Iteration(i)
	h.file(it.Output(), output+"\n")
	if result != "" {
		h.file(it.Result(), result)
	}
}

// sections returns the sections of a strategy for an iteration of a node or of one of its steps.
func (h *fixture) sections(strategy string, path, step string) []contextstrategy.Section {
	h.t.Helper()
	h.src.State, h.src.Node = h.state, h.plan.Find(path)
	h.src.Command.Location = event.Location{Node: path, Visit: max(1, h.state.Nodes[path].Visit), Run: 1, Step: step, Iteration: 1}
	return testkit.Must(h.src.Sections(strategy))
}

const criteriaOfPlan = "Say hello:\n- it says hello\n- it ends with a newline\nWrite it:\n- it compiles\nTest it:\n- tests pass\n"

// D9, U201: the planner gets the whole conversation.
func TestFull(t *testing.T) {
	h := newFixture(t)
	h.state.Nodes["0"] = func() state.Node {
		n := h.state.Nodes["0"]
		n.Visit, n.StartedAt = 2, n.StartedAt.Add(time.Minute)
		n.Loop.Feedback = new(h.file("feedback.md", "Think again.\n"))
		return n
	}()
	h.file("stage-00-plan/visit-002/iterations/001/output.md", "I have another plan.\n")
	kept := testkit.Must(artifact.Parse([]byte(planArtifact)))
	data := string(testkit.Must(json.MarshalIndent(kept.Data, "", "  ")))
	testkit.Equal(t, []contextstrategy.Section{
		{Kind: contextstrategy.Fact, Name: "request", Text: "the old talk"},
		{Kind: contextstrategy.File, Name: "input docs/request.md", Text: "Please greet the world.\n"},
		{Kind: contextstrategy.Talk, Name: "output of execute, step s1", Text: "Wrote it.\n"},
		{Kind: contextstrategy.Talk, Name: "output of execute, step s2", Text: "Could not test it.\n"},
		{Kind: contextstrategy.Talk, Name: "output of verify, 1 of 2", Text: "First look.\n"},
		{Kind: contextstrategy.Talk, Name: "output of verify, 2 of 2", Text: "Second look.\n"},
		{Kind: contextstrategy.Talk, Name: "output of plan, visit 1", Text: "I have a plan.\n"},
		{Kind: contextstrategy.Talk, Name: "output of plan", Text: "I have another plan.\n"},
		{Kind: contextstrategy.Talk, Name: "artifact of plan", Text: data},
		{Kind: contextstrategy.Talk, Name: "feedback of plan", Text: "Think again.\n"},
		{Kind: contextstrategy.Fact, Name: "files of the project", Text: ".claude/\ndocs/\ndocs/request.md\nhello.go\nhello_test.go"},
	}, h.sections(contextstrategy.Full, "0", ""))
}

// D9, U202: the executor gets its step, and nothing of the conversation.
func TestExecutorContext(t *testing.T) {
	h := newFixture(t)
	h.journal()
	want := []contextstrategy.Section{
		{Kind: contextstrategy.Fact, Name: "step s1", Text: `{"id":"s1","title":"Write it","files":["hello.go","missing.go"],"verification":"it compiles"}`},
		{Kind: contextstrategy.Fact, Name: "acceptance criteria", Text: "Greet the world:\n"},
		{Kind: contextstrategy.File, Name: "file hello.go", Text: "package hello\n"},
	}
	want[1].Text = "Say hello:\n- it says hello\n- it ends with a newline\nWrite it:\n- it compiles\n"
	for i := 3; i <= 12; i++ {
		want = append(want, contextstrategy.Section{
			Kind: contextstrategy.Talk, Name: fmt.Sprintf("tool result %d of 10: read", i-2), Text: fmt.Sprintf("read {\"n\":%d}\nsuccess:\n\"result %d\"", i, i),
		})
	}
	testkit.Equal(t, want, h.sections(contextstrategy.Focused, "1", "s1"))

	h.src.Prompt = "do " + want[0].Text // a prompt with ${STEP}
	testkit.Equal(t, want[1:], h.sections(contextstrategy.Focused, "1", "s1"))
}

// journal writes tool calls of an earlier visit and of the current visit, between other events.
func (h *fixture) journal() {
	call := func(node, step, id, arg string) {
		at := event.Location{Node: node, Visit: 1, Run: 1, Step: step, Iteration: 1}
		key := at.Key(event.KeyAttempt, 1)
		h.appendEvent(event.New(event.ToolCall, at.Cursor(), key, event.ToolCallData{CallID: id, Tool: "read", Args: json.RawMessage(`{"n":` + arg + `}`)}))
		h.appendEvent(event.New(event.ToolResult, at.Cursor(), key, event.ToolResultData{CallID: id, Status: "success", Result: json.RawMessage(`"result ` + arg + `"`)}))
	}
	call("1", "s1", "old", "99")
	h.appendEvent(event.New(event.NodeStart, event.Location{Node: "1", Visit: 1, Run: 1}.Cursor(), "", event.NodeStartData{Name: "execute"}))
	for i := 1; i <= 12; i++ {
		call("1", "s1", fmt.Sprint("c", i), fmt.Sprint(i))
		call("2", "", fmt.Sprint("c", i), fmt.Sprint(100+i))
		h.appendEvent(event.New(event.Progress, nil, "", map[string]string{"filler": strings.Repeat("x", 20_000)}))
	}
}

func TestToolResultsOfParallelSteps(t *testing.T) {
	h := newFixture(t)
	h.plan.Nodes[1].Steps.Parallel = true
	h.journal()
	if got := names(h.sections(contextstrategy.Focused, "1", "s2")); !cmp.Equal(got, []string{"step s2", "acceptance criteria", "file hello_test.go"}) {
		t.Errorf("s2 gets %q", got)
	}
	if got := h.sections(contextstrategy.Focused, "1", "s1"); len(got) != 13 {
		t.Errorf("s1 gets %q", names(got))
	}
}

// D9, U203: the verifier gets the previous work and its check results, and nothing of the earlier conversation.
func TestMinimal(t *testing.T) {
	h := newFixture(t)
	testkit.Equal(t, []contextstrategy.Section{
		{Kind: contextstrategy.Talk, Name: "output of execute, step s1", Text: "Wrote it.\n"},
		{Kind: contextstrategy.Talk, Name: "output of execute, step s2", Text: "Could not test it.\n"},
		{Kind: contextstrategy.Fact, Name: "files changed by execute", Text: "- gone.go (not there)\n- hello.go (14 bytes)\n- hello_test.go (26 bytes)\n"},
		{Kind: contextstrategy.File, Name: "file hello.go", Text: "package hello\n"},
		{Kind: contextstrategy.File, Name: "file hello_test.go", Text: "package hello // its test\n"},
		{Kind: contextstrategy.Fact, Name: "acceptance criteria of plan", Text: criteriaOfPlan},
		{Kind: contextstrategy.Fact, Name: "check results", Text: "- verify/build: passed\n- verify/tests: failed: 1 test failed\n  failed: 1\n  passed: 2\n  failed: TestHello\n" +
			"  | --- FAIL\n  | exit 1\n- verify/lint: could not be made: no linter\n"},
	}, h.sections(contextstrategy.Minimal, "2", ""))
}

// D9, U204: the reviewer gets a summary of everything.
func TestSummary(t *testing.T) {
	h := newFixture(t)
	testkit.Equal(t, []contextstrategy.Section{
		{Kind: contextstrategy.File, Name: "input docs/request.md", Text: "Please greet the world.\n"},
		{Kind: contextstrategy.Fact, Name: "titles of plan", Text: "- Greet the world\n  - Say hello\n    - Write it\n    - Test it\n"},
		{Kind: contextstrategy.Step, Name: "steps of execute", Text: "- s1 Write it: complete\n- s2 Test it: failed: the test is red\n"},
		{Kind: contextstrategy.Fact, Name: "checks", Text: "- verify/build: passed\n- verify/tests: failed: 1 test failed\n- verify/lint: could not be made: no linter\n"},
		{Kind: contextstrategy.Fact, Name: "changed files", Text: "- gone.go (not there)\n- hello.go (14 bytes)\n- hello_test.go (26 bytes)\n"},
		{Kind: contextstrategy.Fact, Name: "earlier reviews", Text: "- review:reject->plan, return 1 of at most 3: not enough\n"},
	}, h.sections(contextstrategy.Summary, "3", ""))
}

func TestNoContextWithoutStrategy(t *testing.T) {
	h := newFixture(t)
	testkit.Equal(t, nil, h.sections("", "3", ""))
	h.src.Node = h.plan.Find("3")
	testkit.Fails(t, testkit.Error(h.src.Sections("everything")), `"everything"`)
}

func TestBinaryFiles(t *testing.T) {
	h := newFixture(t)
	h.putFile("docs/request.md", "a\x00b")
	if got := h.sections(contextstrategy.Summary, "3", "")[0]; got.Text != "(3 bytes, no text)" {
		t.Errorf("a binary file: %+v", got)
	}
	h.putFile("docs/request.md", strings.Repeat("ä", 600_000)) // the limit cuts no character
	got := h.sections(contextstrategy.Summary, "3", "")[0]
	if got.Size != 1_200_000 || len(got.Text) != 1<<20 {
		t.Errorf("a large file: %d of %d bytes", len(got.Text), got.Size)
	}
	h.putFile("docs/request.md", "x"+strings.Repeat("ä", 600_000)) // now the limit cuts a character
	if got = h.sections(contextstrategy.Summary, "3", "")[0]; got.Size != 1_200_001 || len(got.Text) != 1<<20-1 {
		t.Errorf("a large file: %d of %d bytes", len(got.Text), got.Size)
	}
}

// A step that names files outside the project gets none of these files.
func TestFilesOutsideAreNotReported(t *testing.T) {
	h := newFixture(t)
	outside := filepath.Join(t.TempDir(), "secret")
	testkit.OK(t, os.WriteFile(outside, []byte("secret"), 0o600))
	testkit.OK(t, os.Symlink(outside, filepath.Join(h.root, "link")))
	item := testkit.Must(json.Marshal(map[string]any{"id": "s1", "files": []string{outside, "../secret", "link", ".git/config", ".claude/pipeline-runs/demo/facts.json", "hello.go"}}))
	step := h.state.Nodes["1"].Steps["s1"]
	step.Item = h.file("steps/s1.json", string(item))
	h.state.Nodes["1"].Steps["s1"] = step
	var files []string
	for _, s := range h.sections(contextstrategy.Focused, "1", "s1") {
		if s.Kind == contextstrategy.File {
			files = append(files, s.Name)
		}
	}
	testkit.Equal(t, []string{"file hello.go"}, files)
}

func TestTreeIsBounded(t *testing.T) {
	h := newFixture(t)
	for i := range 600 {
		h.putFile(fmt.Sprintf("deep/a/%03d.txt", i), "")
	}
	sections := h.sections(contextstrategy.Full, "0", "")
	tree := strings.Split(sections[len(sections)-1].Text, "\n")
	if len(tree) != 501 || tree[500] != "(and more)" || !strings.Contains(sections[len(sections)-1].Text, "hello_test.go") {
		t.Errorf("%d lines, the last %q", len(tree), tree[len(tree)-1])
	}
}

func TestNaming(t *testing.T) {
	steps := []string{"s1", "s2", "s10"}
	for _, tt := range []struct{ feedback, step, want string }{
		{"all is wrong", "s1", "all is wrong"},
		{"- s1: no test\n- s2: wrong name\n- s10: late", "s1", "- s1: no test"},
		{"- s1: no test\n- s2: wrong name", "s10", ""},
		{"see s2.", "s2", "see s2."},
		{"see s1-a and x.s1", "s1", "see s1-a and x.s1"}, // names no step
		{"", "s1", ""},
	} {
		testkit.Equal(t, tt.want, contextstrategy.FeedbackForStep(tt.feedback, tt.step, steps))
	}
}
