package crashtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
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

// Moment is when a kernel is killed, counted from the start, or from the kill before it: as soon as so many lines more
// are in the journal, and so much time after that.
type Moment struct {
	Lines int           `json:"lines"`
	After time.Duration `json:"after_ns,omitempty"`
}

// String is for people: "at line 12", "310ms after line 12".
func (m Moment) String() string {
	if m.After == 0 {
		return fmt.Sprintf("at line %d", m.Lines)
	}
	return fmt.Sprintf("%s after line %d", m.After.Round(time.Millisecond), m.Lines)
}

// timeline is when each line of the undisturbed run's journal was written, counted from the start of the run.
type timeline []time.Duration

// The moments of a trial are of one of four kinds, by its number.
const (
	kinds     = 4 // 0: as soon as a line is there
	kindAfter = 1 // between a line and the next one
	kindAgain = 2 // at a line, and again a few lines later, while the run goes on
	kindTime  = 3 // at any time: where a run spends its time, in hooks and checks, it is killed more often
	fewLines  = 12
	nearlyAll = 0.99 // of the time: what comes at the very last moment comes too late
)

// moments are those of the n-th of so many trials, from 1. They are the same for the same numbers and timeline. Those at
// lines are spread over the whole journal: each trial has a stretch of its own.
func moments(seed uint64, n, of int, line timeline) []Moment {
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	part := random.Float64()
	if n%kinds == kindTime {
		return []Moment{line.at(time.Duration(part * nearlyAll * float64(line[len(line)-1])))}
	}
	at := (float64(n-1) + part) / float64(of)
	first := Moment{Lines: 1 + int(at*float64(max(len(line)-1, 1)))}
	switch n % kinds {
	case kindAfter:
		first.After = time.Duration(random.Float64() * float64(line.gap(first.Lines)))
	case kindAgain:
		return []Moment{first, {Lines: 1 + random.IntN(fewLines)}}
	}
	return []Moment{first}
}

// at is a time of the run, counted from the line before it: so it is the same place in a run that is slower.
func (l timeline) at(t time.Duration) Moment {
	i, found := slices.BinarySearch(l, t)
	if found {
		i++
	}
	if i == 0 {
		return Moment{After: t}
	}
	return Moment{Lines: i, After: t - l[i-1]}
}

// gap is the time between the n-th line, from 1, and the next one.
func (l timeline) gap(n int) time.Duration {
	if n >= len(l) {
		return 0
	}
	return max(0, l[n]-l[n-1])
}
