package e2ereal

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// apiKey is the key that the CLIs send. Its value is unique, so that files can be searched for it.
const apiKey = "stub-key-7c1d0f"

// world holds the directories of one run: a root with a home, a project, and directories for temporary files, programs
// and notes of fakes.
type world struct {
	root, home, project, tmp, bin, notes string
}

func newWorld(t *testing.T) world {
	t.Helper()
	root := must(filepath.EvalSymlinks(t.TempDir())) // as a process sees its own directory
	in := func(name string) string { return filepath.Join(root, name) }
	w := world{root: root, home: in("home"), project: in("project"), tmp: in("tmp"), bin: in("bin"), notes: in("notes")}
	for _, dir := range []string{w.home, w.project, w.tmp, w.bin, w.notes} {
		check(t, os.Mkdir(dir, 0o755))
	}
	return w
}

// environment returns the whole environment of a run. From the test's own environment it passes on only GORACE, the
// settings of the race detector.
func (w world) environment(programs string, more ...string) []string {
	env := []string{
		"HOME=" + w.home,
		"TMPDIR=" + w.tmp,
		"PATH=" + programs + ":/usr/local/bin:/usr/bin:/bin",
		"LANG=C.UTF-8",
		"TERM=dumb",
	}
	if race := os.Getenv("GORACE"); race != "" {
		env = append(env, "GORACE="+race)
	}
	return append(env, more...)
}

// outcome is the exit code and output of a process. The code is -1 if a signal ended the process.
type outcome struct {
	code           int
	stdout, stderr string
}

// command is a process to be run in the project.
type command struct {
	path  string
	args  []string
	stdin string
	env   []string
	limit time.Duration
	// started, if set, is called once the process runs. run waits for the process after started returns.
	started func(*os.Process)
}

// run runs the process and waits for its end. After the limit the process gets SIGTERM, 10 s later SIGKILL, and the
// test fails.
func (w world) run(t *testing.T, c command) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), c.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.path, c.args...)
	cmd.Dir, cmd.Env, cmd.Stdin = w.project, c.env, strings.NewReader(c.stdin)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	// Files, not pipes: with pipes Wait would also wait for processes that outlive this one.
	stdout, stderr := filepath.Join(w.root, "stdout"), filepath.Join(w.root, "stderr")
	cmd.Stdout, cmd.Stderr = create(t, stdout), create(t, stderr)
	check(t, cmd.Start())
	if c.started != nil {
		c.started(cmd.Process)
	}
	err := cmd.Wait()
	if ctx.Err() != nil {
		t.Fatalf("%s did not end within %s: %v\nstdout:\n%s\nstderr:\n%s", c.path, c.limit, err, content(t, stdout), content(t, stderr))
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{code: cmd.ProcessState.ExitCode(), stdout: content(t, stdout), stderr: content(t, stderr)}
}

// create creates a file and closes it when the test ends.
func create(t *testing.T, path string) *os.File {
	t.Helper()
	file := must(os.Create(path))
	t.Cleanup(func() { file.Close() })
	return file
}

func content(t *testing.T, path string) string {
	t.Helper()
	text := must(os.ReadFile(path))
	return string(text)
}

// assertNoProcess fails the test if a process of the run still exists after two seconds.
func (w world) assertNoProcess(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Second)
	for {
		left, err := Processes(w.root)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Log("processes that outlive the run are looked for on Linux only")
			return
		}
		check(t, err)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("processes left behind:\n%s", strings.Join(left, "\n"))
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (w world) assertFile(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(w.project, path))
	if err != nil || string(got) != want {
		t.Errorf("%s: got %q, error %v; want %q", path, got, err, want)
	}
}

// check ends the test if err is not nil.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must returns v, or panics with err.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
