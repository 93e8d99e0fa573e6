package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// workbench creates a repository with the Makefile, the go.mod files and this command, all
// committed.
func workbench(t *testing.T) string {
	t.Helper()
	const root = "../.."
	dir := t.TempDir()
	names := []string{"Makefile", "go.work", "go.work.sum"}
	for _, pattern := range []string{"*/go.mod", "*/*/go.mod", "*/go.sum", "*/*/go.sum", "tools/modproxy/*.go"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			names = append(names, strings.TrimPrefix(file, root+"/"))
		}
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, name), string(text))
	}
	put(t, filepath.Join(dir, "CHANGELOG.md"), "# Changelog\n\n## [Unreleased]\n\n## [0.7.0] - 2026-11-23\n")
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "all of it")
	return dir
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func environment() []string {
	return append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", args...)
	c.Dir, c.Env = dir, environment()
	text, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, text)
	}
	return strings.TrimSpace(string(text))
}

// release runs the target.
func release(dir, version string) (string, error) {
	c := exec.Command("make", "--no-print-directory", "release", "RELEASE="+version)
	c.Dir, c.Env = dir, environment()
	text, err := c.CombinedOutput()
	return string(text), err
}

// The target `release` makes one commit beside the main branch, with the tags of all modules, and
// does not change the main branch.
func TestRelease(t *testing.T) {
	dir := workbench(t)
	before := git(t, dir, "rev-parse", "HEAD")
	output, err := release(dir, "v0.7.0")
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if now := git(t, dir, "rev-parse", "HEAD"); now != before || git(t, dir, "status", "--porcelain") != "" || strings.Contains(git(t, dir, "worktree", "list"), "\n") {
		t.Errorf("the main line is at %s, not %s", now, before)
	}
	w, err := load(dir)
	if err != nil {
		t.Fatal(err)
	}
	commit := git(t, dir, "rev-parse", "v0.7.0")
	if parent := git(t, dir, "rev-parse", commit+"^"); parent != before {
		t.Errorf("its parent is %s", parent)
	}
	tags := strings.Fields(git(t, dir, "tag"))
	if len(tags) != len(w.modules)+1 {
		t.Errorf("%d modules, and the tags %v", len(w.modules), tags)
	}
	for _, m := range w.modules {
		tag := m.dir + "/v0.7.0"
		if rev := git(t, dir, "rev-parse", tag); rev != commit {
			t.Errorf("%s is of %s", tag, rev)
		}
		if goMod := git(t, dir, "show", tag+":"+m.dir+"/go.mod"); strings.Contains(goMod, "replace") || strings.Contains(goMod, "agent-pipelines/kernel v0.1.0") {
			t.Errorf("%s is not as a release has it:\n%s", m.dir, goMod)
		}
		if !strings.Contains(output, tag) {
			t.Errorf("the output does not say to push %s", tag)
		}
	}
	if output, err := release(dir, "v0.7.0"); err == nil || !strings.Contains(output, "is there already") {
		t.Errorf("released twice: %v\n%s", err, output)
	}
}

// An unready repository is refused and stays unchanged.
func TestReleaseRefuses(t *testing.T) {
	dir := workbench(t)
	for name, tt := range map[string]struct{ version, want string }{
		"no version":   {"", "make release RELEASE=v0.1.0"},
		"no v":         {"0.7.0", "make release RELEASE=v0.1.0"},
		"no section":   {"v0.8.0", "no section '## [0.8.0]'"},
		"no canonical": {"v0.7.0.1", "no section"},
	} {
		if output, err := release(dir, tt.version); err == nil || !strings.Contains(output, tt.want) {
			t.Errorf("%s: %v\n%s", name, err, output)
		}
	}
	put(t, filepath.Join(dir, "new"), "")
	if output, err := release(dir, "v0.7.0"); err == nil || !strings.Contains(output, "not committed") {
		t.Errorf("a file that is not committed: %v\n%s", err, output)
	}
	if tags := git(t, dir, "tag"); tags != "" || strings.Contains(git(t, dir, "worktree", "list"), "\n") {
		t.Errorf("left are the tags %s", tags)
	}
}
