package e2ereal

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// record runs the real CLI as a child, passes on its streams and signals, and saves the run as call n. It also saves
// the call before the start, so that a killed recorder leaves a call that waits without end.
func record(path, calls string, n int) (int, error) {
	prompt, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 0, err
	}
	before, err := contents(".")
	if err != nil {
		return 0, err
	}
	call := &Call{Version: readVersion(path), Waits: true}
	if err := call.Save(calls, n); err != nil {
		return 0, err
	}
	if err := call.run(path, prompt, calls, n); err != nil {
		return 0, err
	}
	if err := call.note(prompt, before); err != nil {
		return 0, err
	}
	if err := call.Save(calls, n); err != nil {
		return 0, err
	}
	return call.end()
}

// run runs the CLI to its end and passes signals on to it. The first signal divides the recorded
// output.
func (c *Call) run(path string, prompt []byte, calls string, n int) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	stderr, err := os.Create(callFile(calls, n, "stderr.txt"))
	if err != nil {
		return err
	}
	defer stderr.Close()
	output := &dividedOutput{call: c, file: callFile(calls, n, "stdout.jsonl")}
	cmd := exec.Command(path, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(prompt), io.MultiWriter(output, os.Stdout), io.MultiWriter(os.Stderr, stderr)
	c.Waits = false
	if err := cmd.Start(); err != nil {
		return err
	}
	var passing sync.WaitGroup
	passing.Go(func() {
		for s := range signals {
			output.divide()
			_ = cmd.Process.Signal(s) // it may have ended
		}
	})
	err = c.wait(cmd)
	signal.Stop(signals)
	close(signals)
	passing.Wait()
	if err != nil {
		return err
	}
	c.Stderr, err = os.ReadFile(stderr.Name())
	return err
}

// dividedOutput records the output of a process in its call: in Stdout before the first signal, then in Last. It writes
// Stdout to a file at once, in case the recorder is killed. It is safe for concurrent use.
type dividedOutput struct {
	mu   sync.Mutex
	call *Call
	file string
}

// Write appends the text to the output.
func (o *dividedOutput) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.call.Waits {
		o.call.Last = append(o.call.Last, text...)
		return len(text), nil
	}
	o.call.Stdout = append(o.call.Stdout, text...)
	return len(text), os.WriteFile(o.file, o.call.Stdout, 0o644)
}

func (o *dividedOutput) divide() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.call.Waits = true
}

// wait waits for the end of the CLI and records the exit code or the signal.
func (c *Call) wait(cmd *exec.Cmd) error {
	err := cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return err
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		c.Signal = status.Signal()
	} else {
		c.Exit = cmd.ProcessState.ExitCode()
	}
	return nil
}

// note records the files that the agent wrote, and the result file.
func (c *Call) note(prompt []byte, before map[string]string) error {
	after, err := contents(".")
	if err != nil {
		return err
	}
	c.Files = map[string]string{}
	for path, text := range after {
		if old, ok := before[path]; !ok || old != text {
			c.Files[path] = text
		}
	}
	if named := resultFile.FindSubmatch(prompt); named != nil {
		text, err := os.ReadFile(string(named[1]))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		c.Result = new(string(text))
	}
	return nil
}

// contents returns the text of each file of a project by its relative path, without the files of agent-pipelines.
func contents(dir string) (map[string]string, error) {
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".claude":
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		found[name] = string(text)
		return err
	})
	return found, err
}

func readVersion(path string) string {
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
