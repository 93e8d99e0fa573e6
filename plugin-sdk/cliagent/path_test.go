package cliagent_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// U190: what an agent names by an absolute path is told relative to the directory it works in, and only if it lies there.
func TestPaths(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := cliagent.Paths(link, "", link+"/a.go", target+"/sub/../b.go", "a.go", "./c", link, link+"2/x", "/etc/passwd", "../x")
	want := []string{"a.go", "b.go", "c", ".", link + "2/x", "/etc/passwd", "../x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := cliagent.Paths(dir); got != nil {
		t.Errorf("none: %q", got)
	}
}
