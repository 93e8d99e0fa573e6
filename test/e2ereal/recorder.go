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

// record runs the real CLI in place of this process, passes everything on, and saves it as call n. The call is saved
// before the wait for the end, so that a killed recorder leaves a call that waits without end.
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
	defer signal.Stop(signals)
	stderr, err := os.Create(callFile(calls, n, "stderr.txt"))
	if err != nil {
		return err
	}
	defer stderr.Close()
	cmd := exec.Command(path, os.Args[1:]...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(prompt), io.MultiWriter(os.Stderr, stderr)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.Waits = false
	var reading sync.WaitGroup
	chunks := make(chan []byte)
	reading.Go(func() { read(stdout, chunks) })
	err = c.follow(cmd.Process, signals, chunks, callFile(calls, n, "stdout.jsonl"))
	reading.Wait()
	if err := errors.Join(err, c.wait(cmd)); err != nil {
		return err
	}
	c.Stderr, err = os.ReadFile(stderr.Name())
	return err
}

// read passes data on, until the end.
func read(from io.Reader, chunks chan<- []byte) {
	defer close(chunks)
	for chunk := make([]byte, 64<<10); ; {
		n, err := from.Read(chunk)
		if n > 0 {
			chunks <- bytes.Clone(chunk[:n])
		}
		if err != nil {
			return
		}
	}
}

// follow passes signals to the process and its output to our stdout, until that ends. The output before the first
// signal is in the file at any time. It continues reading after an error, which it returns.
func (c *Call) follow(process *os.Process, signals <-chan os.Signal, chunks <-chan []byte, file string) error {
	var fault error
	for {
		select {
		case s := <-signals:
			c.Waits = true
			fault = errors.Join(fault, ignoreDone(process.Signal(s)))
		case text, ok := <-chunks:
			if !ok {
				return fault
			}
			if c.Waits {
				c.Last = append(c.Last, text...)
			} else {
				c.Stdout = append(c.Stdout, text...)
				fault = errors.Join(fault, os.WriteFile(file, c.Stdout, 0o644))
			}
			fault = errors.Join(fault, writeAll(os.Stdout, text))
		}
	}
}

func ignoreDone(err error) error {
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// wait waits for the end and records it.
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

// note finds the files that the agent wrote.
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

// contents reads a project, path below it to text, without files of the product.
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
