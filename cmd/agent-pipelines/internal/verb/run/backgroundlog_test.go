package run

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// A log begins outside of the missing session's directory, moves into that directory, and is removed unless kept.
func TestBackgroundLog(t *testing.T) {
	root := t.TempDir()
	runs := filepath.Join(root, ".claude/pipeline-runs")
	log, err := openBackgroundLog(root, "demo")
	if err != nil {
		t.Fatal(err)
	}
	check(t, log.Close())
	if left, err := os.ReadDir(runs); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	if log, err = openBackgroundLog(root, "demo"); err != nil {
		t.Fatal(err)
	}
	check(t, os.MkdirAll(filepath.Join(runs, "demo"), 0o755))
	check(t, log.Keep())
	writeLog(t, log, "first\n")
	check(t, log.Close())
	if log, err = openBackgroundLog(root, "demo"); err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	writeLog(t, log, "second\n")
	compare(t, "second\n", must(log.Text()))
	all, err := os.ReadFile(filepath.Join(runs, "demo", backgroundLogFile))
	if err != nil || string(all) != "first\nsecond\n" || log.Path() != filepath.Join(runs, "demo", backgroundLogFile) {
		t.Errorf("%s has %q, %v", log.Path(), all, err)
	}
	if _, err := openBackgroundLog(root, "../x"); !errors.Is(err, engine.ErrSessionName) {
		t.Errorf("a path is not a name: %v", err)
	}
}

func writeLog(t *testing.T, log *backgroundLog, text string) {
	t.Helper()
	if _, err := log.File.WriteString(text); err != nil {
		t.Fatal(err)
	}
}
