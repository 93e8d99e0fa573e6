package dist

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// workbench creates a repository with the Makefile and the go.mod files, all committed, and returns the directories of
// the modules.
func workbench(t *testing.T) (dir string, modules []string) {
	t.Helper()
	dir = t.TempDir()
	copied := func(name string) string {
		text, err := os.ReadFile(filepath.Join("../..", name))
		check(t, err)
		put(t, filepath.Join(dir, name), string(text))
		return string(text)
	}
	copied("Makefile")
	for _, used := range regexp.MustCompile(`(?m)^\s*\./(\S+)`).FindAllStringSubmatch(copied("go.work"), -1) {
		modules = append(modules, used[1])
		copied(filepath.Join(used[1], "go.mod"))
	}
	put(t, filepath.Join(dir, "CHANGELOG.md"), "# Changelog\n\n## [Unreleased]\n\n## [0.7.0] - 2026-11-23\n")
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-qm", "all of it")
	return dir, modules
}

func put(t *testing.T, file, text string) {
	t.Helper()
	check(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)))
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

// release runs the target `release` of the Makefile and returns its output.
func release(dir, version string) (string, error) {
	c := exec.Command("make", "--no-print-directory", "release", "RELEASE="+version)
	c.Dir, c.Env = dir, environment()
	text, err := c.CombinedOutput()
	return string(text), err
}

// TestRelease checks that the target `release` makes one commit with the tags of all modules. The commit is not on
// the main branch, which stays unchanged.
func TestRelease(t *testing.T) {
	dir, modules := workbench(t)
	before := git(t, dir, "rev-parse", "HEAD")
	output, err := release(dir, "v0.7.0")
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if now := git(t, dir, "rev-parse", "HEAD"); now != before || git(t, dir, "status", "--porcelain") != "" || strings.Contains(git(t, dir, "worktree", "list"), "\n") {
		t.Errorf("the main line is at %s, not %s", now, before)
	}
	commit := git(t, dir, "rev-parse", "v0.7.0")
	if parent := git(t, dir, "rev-parse", commit+"^"); parent != before {
		t.Errorf("its parent is %s", parent)
	}
	if goMod := git(t, dir, "show", "v0.7.0:kernel/go.mod"); !strings.Contains(goMod, "agent-pipelines/plugin-sdk v0.7.0\n") {
		t.Errorf("the kernel does not require the released plugin-sdk:\n%s", goMod)
	}
	earlier := regexp.MustCompile(`agent-pipelines/\S+ v0\.1\.0`)
	tags := strings.Fields(git(t, dir, "tag"))
	if len(tags) != len(modules)+1 {
		t.Errorf("%d modules, and the tags %v", len(modules), tags)
	}
	for _, m := range modules {
		tag := m + "/v0.7.0"
		if rev := git(t, dir, "rev-parse", tag); rev != commit {
			t.Errorf("%s is of %s", tag, rev)
		}
		if goMod := git(t, dir, "show", tag+":"+m+"/go.mod"); strings.Contains(goMod, "replace") || earlier.MatchString(goMod) {
			t.Errorf("%s is not as a release has it:\n%s", m, goMod)
		}
		if !strings.Contains(output, tag) {
			t.Errorf("the output does not say to push %s", tag)
		}
	}
	if output, err := release(dir, "v0.7.0"); err == nil || !strings.Contains(output, "is there already") {
		t.Errorf("released twice: %v\n%s", err, output)
	}
}

// TestReleaseRefuses checks that a repository that is not ready for the release is refused and gets no tags.
func TestReleaseRefuses(t *testing.T) {
	dir, _ := workbench(t)
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
	kernel := filepath.Join(dir, "kernel", "go.mod")
	text, err := os.ReadFile(kernel)
	check(t, err)
	put(t, kernel, string(text)+"\nreplace example.com/stranger => ../fork\n")
	git(t, dir, "commit", "-qam", "a fork")
	if output, err := release(dir, "v0.7.0"); err == nil || !strings.Contains(output, "remove the replacement") {
		t.Errorf("a replacement by another module: %v\n%s", err, output)
	}
	put(t, filepath.Join(dir, "new"), "")
	if output, err := release(dir, "v0.7.0"); err == nil || !strings.Contains(output, "not committed") {
		t.Errorf("a file that is not committed: %v\n%s", err, output)
	}
	if tags := git(t, dir, "tag"); tags != "" || strings.Contains(git(t, dir, "worktree", "list"), "\n") {
		t.Errorf("left are the tags %s", tags)
	}
}

// check ends the test if err is not nil.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
