package ci

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/dodo-digital/agent-pipelines/test/e2ereal"
)

// root is the directory of the repository, bin the directory in which TestMain built the command.
var root, bin string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ap-ci-*")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	if root, err = filepath.Abs("../.."); err == nil {
		err = e2ereal.BuildPrograms(dir, map[string]string{"agent-pipelines": "./cmd/agent-pipelines"})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// files are the files of the repository that jobs check out, by path.
var files = map[string]string{
	".gitignore": "/ignored\n",
	"a.txt":      "a\n",
	"b.txt":      "b\n",
	".claude/pipelines/review.yaml": `name: review
defaults: {provider: mock}
hooks:
  stage_end:
    - {stage: plan, action: confirm, accept_feedback: true, message: "Is the plan good?"}
nodes:
  - {id: plan, prompt: "plan ${CONTEXT}", output_path: docs/plan.md}
  - {id: work, stage: work, inputs: {from: plan}}
`,
	".claude/stages/work/stage.yaml": "name: work\ndelay: 0\n",
	".claude/stages/work/prompt.md":  "work on it\n",
}

// Settings of the mock agents. Each job may have other ones.
const (
	good    = `{"record": "/RECORD", "replies": [{"node": "plan", "output": "::error::the plan"}, {"output": "done"}]}`
	failing = `{"replies": [{"node": "plan", "output": "the plan"}, {"failure": {"kind": "agent_error", "message": "no more", "retryable": false}}]}`
)

// world is a directory with a repository, the clone of the current job, and the artifacts that stay between jobs.
type world struct {
	*testing.T
	dir  string
	jobs int
}

// newWorld creates a repository whose files are below the directory project.
func newWorld(t *testing.T, project string) *world {
	t.Helper()
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, dir: dir}
	for name, text := range files {
		w.write(filepath.Join("origin", project, name), text)
	}
	w.git("origin", "init", "--quiet", "--initial-branch=main")
	w.git("origin", "add", "--all")
	w.git("origin", "commit", "--quiet", "--message=one")
	return w
}

func (w *world) write(name, text string) {
	w.Helper()
	file := filepath.Join(w.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		w.Fatal(err)
	}
}

func (w *world) git(dir string, words ...string) {
	w.Helper()
	cmd := exec.Command("git", words...)
	cmd.Dir, cmd.Env = filepath.Join(w.dir, dir), w.environ()
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Fatalf("git %s: %v\n%s", strings.Join(words, " "), err, out)
	}
}

// environ returns the environment variables of every job.
func (w *world) environ() []string {
	return []string{
		"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + filepath.Join(w.dir, "home"), "LANG=C.UTF-8", "TMPDIR=" + os.TempDir(),
		"GIT_AUTHOR_NAME=ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=ann", "GIT_COMMITTER_EMAIL=ann@example.com",
		"MOCK_CONFIG=" + filepath.Join(w.dir, "mock.json"), "GIT_CONFIG_NOSYSTEM=1",
	}
}

// checkout makes a fresh clone in a new directory for the next job and returns its path. It removes the clone of the
// job before, and mock becomes the settings of the mock agents.
func (w *world) checkout(mock string, flags ...string) string {
	w.Helper()
	if w.jobs > 0 {
		if err := os.RemoveAll(filepath.Join(w.dir, fmt.Sprintf("job%d", w.jobs))); err != nil {
			w.Fatal(err)
		}
	}
	w.jobs++
	w.write("mock.json", strings.ReplaceAll(mock, "/RECORD", filepath.Join(w.dir, "requests.jsonl")))
	dir := fmt.Sprintf("job%d", w.jobs)
	w.git(".", append(append([]string{"clone", "--quiet"}, flags...), "file://"+filepath.Join(w.dir, "origin"), dir)...)
	return filepath.Join(w.dir, dir)
}

// bash runs a script in a directory and returns its exit code and its whole output.
func (w *world) bash(dir, script string, env map[string]string) (code int, output string) {
	w.Helper()
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, w.environ()
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// document reads a YAML file of the repository.
func (w *world) document(file string, into any) {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		w.Fatal(err)
	}
}

// has checks that a file in dir contains a text.
func (w *world) has(dir, file, want string) {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil || !strings.Contains(string(text), want) {
		w.Errorf("no %q in %s: %q (%v)", want, file, text, err)
	}
}

// lacks checks that dir does not have a file.
func (w *world) lacks(dir, file string) {
	w.Helper()
	if _, err := os.Lstat(filepath.Join(dir, file)); !errors.Is(err, os.ErrNotExist) {
		w.Errorf("%s is there (%v)", file, err)
	}
}
