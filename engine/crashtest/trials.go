package crashtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Trials runs a pipeline in copies of its project: twice undisturbed, and then once for each kill, in which the kernel is
// killed with SIGKILL and the session resumed until it ends. Every provider is the mock; nothing is sent by webhook, and
// nobody is notified. Commands of scripts, checks, queues and wraps run for real, in the copy.
type Trials struct {
	// Command starts agent-pipelines with arguments; the environment and directory of a trial are added to it.
	Command func(ctx context.Context, args ...string) *exec.Cmd
	// Start are the arguments by which the session named Session begins, in the foreground.
	Start   []string
	Session string
	// Project is the directory that is copied, absolute. With names directories of it that are copied only if asked for
	// (.git, node_modules, .venv), LeaveOut those that are not, and Ignore files that are not compared: names, with / at
	// the beginning those in the project itself, with / at the end those of directories, and with * and ?.
	Project  string
	With     []string
	LeaveOut []string
	Ignore   []string
	// NoHooks leaves out all actions of hooks, not only webhooks; checks are made nevertheless.
	NoHooks bool

	// Kills is how many trials there are, Seed which ones, and Only the number of the only one to be made, from 1; 0 for
	// all. The same three make the same trial again.
	Kills int
	Seed  uint64
	Only  int
	// Parallel is how many run at a time, at least one.
	Parallel int
	// Keep keeps all copies. Otherwise those of trials with a difference are kept, and the undisturbed one with them.
	Keep bool
	// Observe is told of each trial that has ended, one at a time; nil is nobody. Begun is told of the undisturbed run.
	Observe func(Trial)
	Begun   func(Report)
}

// Run makes the trials. An [EndError] says that the undisturbed run does not complete. When ctx ends, everything that was
// started is killed and all copies are removed; the error is the cause.
func (t *Trials) Run(ctx context.Context) (*Report, error) {
	scratch, err := os.MkdirTemp("", "ap-crash-*") // short: the paths of plugins' sockets are bounded
	if err != nil {
		return nil, err
	}
	if scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		return nil, err
	}
	report, err := t.runIn(ctx, scratch)
	if err != nil || !t.Keep && report.Same() {
		if err == nil {
			report.Dir = ""
		}
		return report, errors.Join(err, os.RemoveAll(scratch))
	}
	return report, nil
}

func (t *Trials) runIn(ctx context.Context, scratch string) (*Report, error) {
	p, err := listProject(t.Project, t.With, t.LeaveOut)
	if err != nil {
		return nil, err
	}
	calm, report, err := t.undisturbed(ctx, &p, scratch)
	if err != nil {
		return nil, err
	}
	if t.Begun != nil {
		t.Begun(*report)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		slots = make(chan struct{}, max(t.Parallel, 1))
	)
	for _, n := range t.numbers() {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			done, err := t.disturbed(ctx, &p, filepath.Join(scratch, fmt.Sprintf("t%05d", n)), n, calm, report)
			if err != nil {
				cancel(fmt.Errorf("trial %d: %w", n, err))
				return
			}
			mu.Lock()
			defer mu.Unlock()
			report.Trials = append(report.Trials, done)
			if t.Observe != nil {
				t.Observe(done)
			}
		})
	}
	wg.Wait()
	slices.SortFunc(report.Trials, func(a, b Trial) int { return cmp.Compare(a.N, b.N) })
	return report, context.Cause(ctx)
}

func (t *Trials) numbers() []int {
	if t.Only > 0 {
		return []int{t.Only}
	}
	var all []int
	for n := range t.Kills {
		all = append(all, n+1)
	}
	return all
}

// undisturbed runs the pipeline twice without a kill.
func (t *Trials) undisturbed(ctx context.Context, p *project, scratch string) (Outcome, *Report, error) {
	report := &Report{Seed: t.Seed, Kills: t.Kills, NotCopied: p.leftOut, Trials: []Trial{}}
	var calm Outcome
	for i, name := range []string{"u00001", "u00002"} { // as long as the trials': so are paths in prompts
		tr, err := t.newTrial(filepath.Join(scratch, name), p, nil)
		if err != nil {
			return calm, nil, err
		}
		began := time.Now().Round(0) // on the clock of the journal
		o, err := tr.calm(ctx)
		if err != nil {
			return calm, nil, err
		}
		if i > 0 {
			report.LeftOut = calm.Diff(o)
			return calm, report, os.RemoveAll(tr.dir)
		}
		calm, report.Dir, report.Approvals = o, tr.dir, tr.report.Approvals
		if report.line, err = tr.timeline(began); err != nil {
			return calm, nil, err
		}
		report.Lines, report.Undisturbed = len(report.line), time.Since(began)
	}
	return calm, report, nil
}

// timeline tells when the lines of a run that has ended just now were written.
func (t *trial) timeline(began time.Time) (timeline, error) {
	var line timeline
	journal, err := readJournal(t.dog.journal)
	for _, e := range journal {
		line = append(line, e.Time.Sub(began))
	}
	return line, err
}

// calm runs a trial without a kill to its end.
func (t *trial) calm(ctx context.Context) (Outcome, error) {
	last, s, err := t.run(ctx)
	left, errLeft := t.left(ctx)
	switch {
	case err != nil || errLeft != nil:
		return Outcome{}, errors.Join(err, errLeft)
	case s.Status != "completed":
		return Outcome{}, t.endError(last, s)
	case len(left) > 0:
		return Outcome{}, fmt.Errorf("without any kill the run leaves process %d, which has been ended: %s", left[0].PID, left[0].Command)
	}
	return t.outcome()
}

// A trial may take so much longer than the undisturbed run, for each process that it takes.
const (
	patience = 20
	atLeast  = time.Minute
)

// disturbed makes the n-th trial.
func (t *Trials) disturbed(ctx context.Context, p *project, dir string, n int, want Outcome, of *Report) (Trial, error) {
	tr, err := t.newTrial(dir, p, moments(t.Seed, n, t.Kills, of.line))
	if err != nil {
		return Trial{}, err
	}
	tr.report.N = n
	limit := atLeast + patience*of.Undisturbed
	bounded, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the session has not ended after %s", limit.Round(time.Second)))
	defer cancel()
	last, _, err := tr.run(bounded)
	left, errLeft := tr.left(ctx)
	if ctx.Err() != nil || errLeft != nil {
		return Trial{}, errors.Join(context.Cause(ctx), errLeft)
	}
	tr.report.Left = left
	if err != nil {
		tr.report.Differences = []Difference{{Where: "the run", Want: "an end", Got: err.Error()}}
	} else if tr.report.Differences, err = tr.compared(want, of.LeftOut, last); err != nil {
		return Trial{}, err
	}
	if !t.Keep && tr.report.Same() {
		tr.report.Dir = ""
		return tr.report, os.RemoveAll(dir)
	}
	return tr.report, nil
}

// compared are the differences from the undisturbed run. A session that is not there is one, with what its last command
// said.
func (t *trial) compared(want Outcome, leftOut []Difference, last ending) ([]Difference, error) {
	got, err := t.outcome()
	if errors.Is(err, os.ErrNotExist) {
		return []Difference{{Where: "the session", Want: "a journal", Got: fmt.Sprintf("none; the last command ended with exit code %d: %s", last.code, brief(last.text))}}, nil
	}
	if err != nil {
		return nil, err
	}
	unstable := map[string]bool{}
	for _, d := range leftOut {
		unstable[d.place()] = true
	}
	return slices.DeleteFunc(want.Diff(got), func(d Difference) bool { return unstable[d.place()] }), nil
}

// place is what a difference is about: of a text the whole, whichever line differs; of a file that is there or not all
// whose names differ in numbers alone.
func (d Difference) place() string {
	at, _, _ := strings.Cut(d.Path, "line ")
	where := d.Where
	if d.Path == "" && !strings.HasPrefix(where, ofEvents) {
		where = digits.ReplaceAllString(where, "#")
	}
	return where + "\x00" + strings.TrimSuffix(at, ".")
}

var digits = regexp.MustCompile(`\d+`)
