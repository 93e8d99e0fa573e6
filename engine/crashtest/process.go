package crashtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// lookEvery is the pause between two looks at a journal.
const lookEvery = 500 * time.Microsecond

// ending is how one process ended.
type ending struct {
	killed bool // by us, at the moment
	code   int  // its exit code, else
	text   string
}

// watchdog kills a kernel at its moments, one after the other, over all processes of a trial.
type watchdog struct {
	journal string
	moments []Moment
	lines   counter
	// from is the line that the next moment is counted from, and reached the time at which its line was there.
	from    int
	reached time.Time
}

// run runs a command to its end, or kills it at the next moment. It returns when the process is gone; an error means that
// it could not be started, or that ctx ended.
func (w *watchdog) run(ctx context.Context, cmd *exec.Cmd) (ending, error) {
	var said tailed
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C at the terminal is ours to deal with
	cmd.WaitDelay = waitDelay
	if err := cmd.Start(); err != nil {
		return ending{}, err
	}
	var watching sync.WaitGroup
	done, struck := make(chan struct{}), false
	watching.Go(func() { struck = w.watch(done, cmd.Process) })
	err := cmd.Wait()
	close(done)
	watching.Wait()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ending{}, context.Cause(ctx)
	case err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay):
		return ending{}, err
	}
	e := ending{code: cmd.ProcessState.ExitCode(), text: said.String()}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && struck && status.Signaled() && status.Signal() == syscall.SIGKILL {
		e.killed = true
		w.next()
	}
	return e, nil
}

// waitDelay bounds the wait for what a killed process left at the other end of its output.
const waitDelay = 5 * time.Second

// watch waits for the moment, and reports whether it came before the end.
func (w *watchdog) watch(done <-chan struct{}, kernel *os.Process) bool {
	if len(w.moments) == 0 {
		<-done
		return false
	}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-done:
			return false
		case <-look.C:
			if w.come() {
				return kernel.Kill() == nil
			}
		}
	}
}

// come reports whether it is the moment.
func (w *watchdog) come() bool {
	at := w.moments[0]
	if w.reached.IsZero() && w.lines.count(w.journal)-w.from >= at.Lines {
		w.reached = time.Now()
	}
	return !w.reached.IsZero() && time.Since(w.reached) >= at.After
}

// next lets the next moment be counted from now on.
func (w *watchdog) next() {
	w.moments, w.reached = w.moments[1:], time.Time{}
	w.from = w.lines.count(w.journal)
}

// counter counts the lines of a file that grows.
type counter struct {
	read  int64
	lines int
}

// count is the number of whole lines by now; 0 while there is no file.
func (c *counter) count(name string) int {
	f, err := os.Open(name)
	if err != nil {
		return c.lines
	}
	defer f.Close()
	b, err := io.ReadAll(io.NewSectionReader(f, c.read, 1<<62))
	if err != nil {
		return c.lines
	}
	c.read += int64(len(b))
	c.lines += bytes.Count(b, []byte{'\n'})
	return c.lines
}

// tailed keeps the end of what is written to it. It is written to by one goroutine at a time, as [exec.Cmd] does where
// both outputs are the same.
type tailed struct{ text []byte }

// maxSaid is how much is kept, in bytes.
const maxSaid = 16 << 10

// Write implements [io.Writer].
func (t *tailed) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	if over := len(t.text) - maxSaid; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(b), nil
}

// String is what was kept.
func (t *tailed) String() string { return string(bytes.ToValidUTF8(t.text, nil)) }
