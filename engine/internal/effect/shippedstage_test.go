package effect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// shipped returns the environment of a session with a shipped stage of two files, and a node that runs the stage.
func shipped(t *testing.T) (*effect.Env, *plan.Node) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	project, dir := testkit.Session(t, t.TempDir(), "s")
	digests := map[string]string{}
	for name, text := range map[string]string{"stages/tick/prompts/prompt.md": "Tick", "stages/tick/tick.sh": "exit 1"} {
		digests[name] = testkit.Must(dir.Write(store.LibraryDir+"/"+name, []byte(text))).SHA256
	}
	testkit.OK(t, effect.KeepStage(dir, digests, "stages/tick"))
	n := &plan.Node{Ref: "tick", PromptPath: ".claude/pipeline-runs/s/library/stages/tick/prompts/prompt.md"}
	return &effect.Env{Plan: &plan.Plan{Library: digests}, Project: project, Dir: dir}, n
}

// U315: the used copy of a shipped stage has the files of the session's start, whatever is changed.
func TestShippedStage(t *testing.T) {
	const script = "library/stages/tick/tick.sh"
	for name, tt := range map[string]struct {
		change func(e *effect.Env, used string) error
		want   string // in the error
	}{
		"nothing":               {func(*effect.Env, string) error { return nil }, ""},
		"a file of the session": {func(e *effect.Env, _ string) error { return e.Dir.Replace(script, []byte("exit 0")) }, "tick.sh, a file of a shipped stage, was changed"},
		"a missing file":        {func(e *effect.Env, _ string) error { return e.Dir.Remove(script) }, "tick.sh, a file of a shipped stage, was changed"},
		"another file":          {func(e *effect.Env, _ string) error { return e.Dir.Replace("library/stages/tick/more.sh", nil) }, ""},
		"a used file": {func(_ *effect.Env, used string) error {
			return os.Rename(filepath.Join(used, "prompts/prompt.md"), filepath.Join(used, "tick.sh"))
		}, ""},
		"one more used file": {func(_ *effect.Env, used string) error {
			return os.WriteFile(filepath.Join(used, "more.sh"), nil, 0o600)
		}, ""},
		"no used file": {func(_ *effect.Env, used string) error { return os.RemoveAll(used) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e, n := shipped(t)
			used := testkit.Must(e.StageDir(n))
			testkit.OK(t, tt.change(e, used))
			_, err := e.StageDir(n)
			if (tt.want == "") != (err == nil) || tt.want != "" && (failure.KindOf(err) != failure.Tampered || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			again := testkit.Must(e.StageDir(n)) // the originals are in place again
			testkit.Equal(t, used, again)
			testkit.Equal(t, "exit 1", string(testkit.Must(os.ReadFile(filepath.Join(again, "tick.sh")))))
			testkit.Equal(t, "Tick", string(testkit.Must(os.ReadFile(testkit.Must(e.PromptFile(n))))))
			if _, err := os.Stat(filepath.Join(again, "more.sh")); err == nil {
				t.Error("the used copy has a file that was not shipped")
			}
		})
	}
}

// Without a copy of the original the session cannot continue. A stage of a plan without digests is used as it is.
func TestShippedStageIsLost(t *testing.T) {
	e, n := shipped(t)
	testkit.OK(t, os.RemoveAll(testkit.Must(e.StageDir(n))))
	testkit.OK(t, e.Dir.Replace("library/stages/tick/tick.sh", []byte("exit 0")))
	if _, err := e.StageDir(n); failure.KindOf(err) != failure.Tampered || !strings.Contains(failure.From(err).Hint, "no copy of the original is left") {
		t.Errorf("got %v", err)
	}
	if _, err := e.PromptFile(n); failure.KindOf(err) != failure.Tampered {
		t.Errorf("got %v", err)
	}
	e.Plan = &plan.Plan{}
	testkit.Equal(t, e.Dir.Abs("library/stages/tick"), testkit.Must(e.StageDir(n)))
	outside := &plan.Node{PromptPath: filepath.Join(t.TempDir(), "own.md")}
	testkit.Equal(t, outside.PromptPath, testkit.Must(e.PromptFile(outside)))
}

func TestStagesDirCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	t.Setenv("XDG_CACHE_HOME", file)
	if _, err := effect.StagesDir(); failure.KindOf(err) != failure.ConfigInvalid || !strings.Contains(failure.From(err).Hint, "XDG_CACHE_HOME") {
		t.Errorf("got %v", err)
	}
}
