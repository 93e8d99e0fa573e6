package outcome

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testfirst"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// fileTests runs the tests of a directory: each file tests/<name> passes if the file that it names exists.
func fileTests(_ context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	tests, failed := map[string]string{}, 0
	files, err := filepath.Glob(filepath.Join(req.WorkDir, "tests", "*"))
	for _, file := range files {
		needed, _ := os.ReadFile(file)
		name := filepath.Base(file)
		if tests[name] = "passed"; string(needed) == "skip" {
			tests[name] = "skipped"
		} else if _, err := os.Stat(filepath.Join(req.WorkDir, string(needed))); err != nil {
			tests[name] = "failed"
			failed++
		}
	}
	facts := map[string]any{"type": "tests", "passed": failed == 0, "tests": tests, "counts": map[string]int{"passed": len(tests) - failed, "failed": failed}}
	if failed > 0 {
		facts["reason"] = "tests failed"
	}
	raw, _ := json.Marshal(facts)
	return sdk.HookAnswer{Facts: raw}, err
}

// development is a test-first development in a project.
type development struct {
	*fixture
	dir string
}

func newDevelopment(t *testing.T, act checkFunc) development {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	b := newFixture(t, act)
	config := json.RawMessage(`{"type":"tests","command":"run"}`)
	b.node.Checks = []plan.Check{{ID: "base", At: plan.AtEnter, TestFirst: plan.TestFirstBase, Config: config}}
	for _, part := range []plan.TestFirst{plan.TestFirstRed, plan.TestFirstGreen, plan.TestFirstRefactor, plan.TestFirstFix} {
		b.node.Checks = append(b.node.Checks, plan.Check{ID: string(part), TestFirst: part, Config: config})
	}
	d := development{b, b.settler.Project.Path()}
	d.write("old", "")
	d.write("tests/old", "old")
	return d
}

func (d development) write(name, content string) {
	d.t.Helper()
	to := filepath.Join(d.dir, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(to, []byte(content), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// expect runs a check and compares its code, or the start of its reason or failure; "" if it passes.
func (d development) expect(id, want string) event.CheckResultData {
	d.t.Helper()
	got := d.check(id)
	text := got.Reason
	if got.Failure != nil {
		text = got.Failure.Message
	}
	if got.Passed != (want == "") || !strings.HasPrefix(text, want) || strings.HasPrefix(want, "CHEAT-") != (got.Code != "") {
		d.t.Errorf("%s: %+v %s, want %q", id, got, text, want)
	}
	return got
}

func TestTestFirst(t *testing.T) {
	d := newDevelopment(t, fileTests)
	d.expect("green", "nothing was measured before check green")
	d.expect("base", "")
	d.write("new", "")
	d.write("tests/new", "new")
	d.expect("red", testfirst.CheatCode)
	d.expect("base", "") // another visit does not accept what was refused
	d.expect("red", testfirst.CheatCode)
	if err := os.Remove(filepath.Join(d.dir, "new")); err != nil {
		t.Fatal(err)
	}
	d.expect("red", "")
	red := d.node.ID
	d.node.ID = "green"
	d.expect("base", "") // known
	d.node.ID = red
	d.expect("green", "tests failed")
	d.write("tests/new", "old")
	d.expect("green", testfirst.CheatTests)
	d.write("tests/new", "new")
	d.write("new", "")
	got := d.expect("green", "")
	if facts := d.text(got.Facts); !strings.Contains(facts, `"changed":["new","tests/new"]`) {
		t.Error(facts)
	}
	d.expect("refactor", "")

	// RED again, with the code of GREEN: the tests run on the files of before.
	d.expect("base", "")
	d.write("tests/more", "more")
	d.expect("red", "")
	d.write("tests/more", "old")
	d.expect("red", testfirst.CheatPasses)
	d.write("tests/more", "skip")
	d.expect("red", testfirst.CheatSkipped)
}

func TestFix(t *testing.T) {
	d := newDevelopment(t, fileTests)
	d.expect("base", "")
	d.expect("fix", testfirst.CheatNothing)
	d.write("repair", "")
	d.expect("fix", testfirst.CheatNothing)
	d.write("tests/repair", "old")
	d.expect("fix", testfirst.CheatPasses)
	d.write("tests/old", "repair")
	d.expect("fix", testfirst.CheatTests)
	d.write("tests/old", "old")
	d.write("tests/repair", "repair")
	d.expect("fix", "")
	d.write("repair", "import unittest\n")
	d.expect("refactor", testfirst.CheatRunner)
}

// A run that begins with GREEN has the tests of before.
func TestGreenWithoutRed(t *testing.T) {
	d := newDevelopment(t, fileTests)
	d.write("tests/new", "new")
	d.expect("base", "")
	d.expect("green", "tests failed")
	d.write("new", "")
	d.expect("green", "")
}

// A report that the action refuses fails each part, also that of the tests before the work, which then are not known.
func TestRefusedReport(t *testing.T) {
	d := newDevelopment(t, factsCheck(`{"type":"tests","passed":false,"reason":"CHEAT-REPORT: a.xml is stale","evidence":{"code":"CHEAT-REPORT"}}`))
	for _, id := range []string{"base", "red", "green", "base"} {
		d.expect(id, "CHEAT-REPORT: a.xml is stale")
	}
}

// A copy without the code has a report of its own, which is refused like that of the workspace.
func TestRefusedReportOfCopy(t *testing.T) {
	var workspace string
	d := newDevelopment(t, func(ctx context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
		if req.WorkDir == workspace {
			return fileTests(ctx, req)
		}
		return factsCheck(`{"type":"tests","passed":false,"reason":"CHEAT-REPORT: a.xml is stale","evidence":{"code":"CHEAT-REPORT"}}`)(ctx, req)
	})
	workspace = d.dir
	d.expect("base", "")
	d.write("tests/new", "new")
	d.expect("red", "")
	d.write("new", "")
	d.expect("green", "CHEAT-REPORT: a.xml is stale")
}

func TestTestFirstErrors(t *testing.T) {
	d := newDevelopment(t, factsCheck(`{`))
	d.expect("base", "the answer of check base is unreadable")
	d = newDevelopment(t, fileTests)
	d.expect("base", "")
	if err := os.RemoveAll(os.Getenv("XDG_STATE_HOME")); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"base", "red", "fix"} {
		d.expect(id, "git ")
	}
	d.node.Checks[0].Config = json.RawMessage(`[]`)
	d.expect("base", "json: ")
	t.Setenv("PATH", "")
	d = newDevelopment(t, fileTests)
	d.expect("base", "the program git")
}
