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

// pollInterval is the interval of polling a journal.
const pollInterval = 500 * time.Microsecond

// processEnd describes how one process ended.
type processEnd struct {
	killed bool // by the watchdog
	code   int  // exit code, if not killed
	text   string
}

// watchdog kills a kernel at each of the moments, in order, over all processes of a trial.
type watchdog struct {
	journal string
	moments []Moment
	lines   counter
	// fromLine is the line that the next moment is relative to. reachedAt is the time at which the watchdog found the
	// moment's line in the journal.
	fromLine  int
	reachedAt time.Time
}

// run runs a command to its end, or kills it at the next moment. It returns when the process is gone. An
// error means that the command could not be started, or that ctx ended.
func (w *watchdog) run(ctx context.Context, cmd *exec.Cmd) (processEnd, error) {
	var output bytes.Buffer // needs no lock: [exec.Cmd] serializes writes if both outputs are the same
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the caller handles Ctrl-C
	cmd.WaitDelay = waitDelay
	if err := cmd.Start(); err != nil {
		return processEnd{}, err
	}
	var watcher sync.WaitGroup
	done, killed := make(chan struct{}), false
	watcher.Go(func() { killed = w.watch(done, cmd.Process) })
	err := cmd.Wait()
	close(done)
	watcher.Wait()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return processEnd{}, context.Cause(ctx)
	case err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay):
		return processEnd{}, err
	}
	text := output.Bytes()[max(0, output.Len()-maxTail):]
	e := processEnd{code: cmd.ProcessState.ExitCode(), text: string(bytes.ToValidUTF8(text, nil))}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && killed && status.Signaled() && status.Signal() == syscall.SIGKILL {
		e.killed = true
		w.next()
	}
	return e, nil
}

// waitDelay bounds the wait for children of a killed process that hold its output open.
const waitDelay = 5 * time.Second

// watch waits for the next moment and kills the kernel. It reports whether it killed the kernel before the kernel's
// end.
func (w *watchdog) watch(done <-chan struct{}, kernel *os.Process) bool {
	if len(w.moments) == 0 {
		<-done
		return false
	}
	look := time.NewTicker(pollInterval)
	defer look.Stop()
	for {
		select {
		case <-done:
			return false
		case <-look.C:
			if w.due() {
				return kernel.Kill() == nil
			}
		}
	}
}

// due reports whether the next moment has come.
func (w *watchdog) due() bool {
	at := w.moments[0]
	if w.reachedAt.IsZero() && w.lines.count(w.journal)-w.fromLine >= at.Lines {
		w.reachedAt = time.Now()
	}
	return !w.reachedAt.IsZero() && time.Since(w.reachedAt) >= at.After
}

// next makes the next moment relative to the journal's current line.
func (w *watchdog) next() {
	w.moments, w.reachedAt = w.moments[1:], time.Time{}
	w.fromLine = w.lines.count(w.journal)
}

// counter counts the lines of a growing file.
type counter struct {
	read  int64
	lines int
}

// count returns the current number of complete lines; 0 without a file.
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

// maxTail bounds the kept end of a command's output, in bytes.
const maxTail = 16 << 10

// Moment is the time of a kill, relative to the start or the previous kill: after a number of further lines
// in the journal, and then a delay.
type Moment struct {
	Lines int           `json:"lines"`
	After time.Duration `json:"after_ns,omitempty"`
}

// String formats the moment: "at line 12", "310ms after line 12".
func (m Moment) String() string {
	if m.After == 0 {
		return fmt.Sprintf("at line %d", m.Lines)
	}
	return fmt.Sprintf("%s after line %d", m.After.Round(time.Millisecond), m.Lines)
}

// timeline holds the time of each line of the undisturbed run's journal, since the start of the run.
type timeline []time.Duration

// The kind of a trial's moments depends on its number.
const (
	kinds      = 4 // number of kinds; kind 0 is at a line
	kindAfter  = 1 // between two lines
	kindAgain  = 2 // at a line, and again a few lines later
	kindTime   = 3 // uniform in time: long hooks and checks are killed more often
	fewLines   = 12
	lastMoment = 0.99 // share of the run's time; a later kill could come after the end
)

// moments returns the moments of trial n, counted from 1, of total trials. They depend only on the arguments. Kills
// at lines are spread evenly over the journal.
func moments(seed uint64, n, total int, line timeline) []Moment {
	random := rand.New(rand.NewPCG(seed, uint64(n)))
	part := random.Float64()
	if n%kinds == kindTime {
		return []Moment{line.moment(time.Duration(part * lastMoment * float64(line[len(line)-1])))}
	}
	at := (float64(n-1) + part) / float64(total)
	first := Moment{Lines: 1 + int(at*float64(max(len(line)-1, 1)))}
	switch n % kinds {
	case kindAfter:
		first.After = time.Duration(random.Float64() * float64(line.gap(first.Lines)))
	case kindAgain:
		return []Moment{first, {Lines: 1 + random.IntN(fewLines)}}
	}
	return []Moment{first}
}

// moment converts a time of the run into a delay after the line before that time. In a slower run, this is the same
// place.
func (l timeline) moment(t time.Duration) Moment {
	i, found := slices.BinarySearch(l, t)
	if found {
		i++
	}
	if i == 0 {
		return Moment{After: t}
	}
	return Moment{Lines: i, After: t - l[i-1]}
}

// gap returns the time between line n, from 1, and the next.
func (l timeline) gap(n int) time.Duration {
	if n >= len(l) {
		return 0
	}
	return max(0, l[n]-l[n-1])
}
