package crashtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Run runs the trials. An [EndError] means that the undisturbed run does not complete. When ctx ends, all
// processes are killed and all copies removed; the error is the cause.
func (t *Trials) Run(ctx context.Context) (*Report, error) {
	scratch, err := os.MkdirTemp("", "ap-crash-*") // short, because socket paths of plugins are bounded
	if err != nil {
		return nil, err
	}
	resolved, err := filepath.EvalSymlinks(scratch)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(scratch))
	}
	report, err := t.runIn(ctx, resolved)
	if err != nil || !t.Keep && report.Equal() {
		if err == nil {
			report.Dir = ""
		}
		return report, errors.Join(err, os.RemoveAll(scratch))
	}
	return report, nil
}

func (t *Trials) runIn(ctx context.Context, scratch string) (*Report, error) {
	p := project{root: t.Project, with: t.With, leaveOut: t.LeaveOut, ignore: t.Ignore}
	if err := p.copyTo(filepath.Join(scratch, "project")); err != nil {
		return nil, err
	}
	outcome, report, err := t.runUndisturbed(ctx, &p, scratch)
	if err != nil {
		return nil, err
	}
	if t.ObserveUndisturbed != nil {
		t.ObserveUndisturbed(*report)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		slots = make(chan struct{}, max(t.Parallel, 1))
	)
	for n := 1; n <= t.Kills; n++ {
		if t.Only != 0 && t.Only != n {
			continue
		}
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			trial, err := t.runTrial(ctx, &p, filepath.Join(scratch, fmt.Sprintf("t%05d", n)), n, outcome, report)
			if err != nil {
				cancel(fmt.Errorf("trial %d: %w", n, err))
				return
			}
			mu.Lock()
			defer mu.Unlock()
			report.Trials = append(report.Trials, trial)
			if t.Observe != nil {
				t.Observe(trial)
			}
		})
	}
	wg.Wait()
	slices.SortFunc(report.Trials, func(a, b Trial) int { return cmp.Compare(a.N, b.N) })
	return report, errors.Join(context.Cause(ctx), os.RemoveAll(p.dir))
}

// runUndisturbed runs the pipeline twice without kills.
func (t *Trials) runUndisturbed(ctx context.Context, p *project, scratch string) (Outcome, *Report, error) {
	report := &Report{Seed: t.Seed, Kills: t.Kills, NotCopied: p.excluded, Trials: []Trial{}}
	var outcome Outcome
	for i, name := range []string{"u00001", "u00002"} { // as long as the trials' names, because paths occur in prompts
		tr, err := t.newTrial(filepath.Join(scratch, name), p, nil)
		if err != nil {
			return outcome, nil, err
		}
		began := time.Now().Round(0) // without a monotonic time, as in the journal
		o, err := tr.runWithoutKill(ctx)
		if err != nil {
			return outcome, nil, err
		}
		if i > 0 {
			report.Unstable = outcome.Diff(o)
			return outcome, report, os.RemoveAll(tr.dir)
		}
		outcome, report.Dir, report.Approvals = o, tr.dir, tr.report.Approvals
		if report.timeline, err = tr.timeline(began); err != nil {
			return outcome, nil, err
		}
		report.Lines, report.Undisturbed = len(report.timeline), time.Since(began)
	}
	return outcome, report, nil
}

// timeline returns the times of the lines of a run that has just ended.
func (t *trial) timeline(began time.Time) (timeline, error) {
	var line timeline
	journal, err := readJournal(t.watchdog.journal)
	for _, e := range journal {
		line = append(line, e.Time.Sub(began))
	}
	return line, err
}

// runWithoutKill runs a trial without kills to its end.
func (t *trial) runWithoutKill(ctx context.Context) (Outcome, error) {
	last, s, err := t.run(ctx)
	left, errLeft := t.endLeftProcesses(ctx)
	switch {
	case err != nil || errLeft != nil:
		return Outcome{}, errors.Join(err, errLeft)
	case s.Status != "completed":
		return Outcome{}, endError(last, s)
	case len(left) > 0:
		return Outcome{}, fmt.Errorf("the run left process %d (%s) although nothing was killed; it has been ended", left[0].PID, left[0].Command)
	}
	return t.outcome()
}

// Time limit of a trial, relative to the undisturbed run.
const (
	timeoutFactor = 20
	minTimeout    = time.Minute
)

// runTrial runs the n-th trial.
func (t *Trials) runTrial(ctx context.Context, p *project, dir string, n int, want Outcome, report *Report) (Trial, error) {
	tr, err := t.newTrial(dir, p, moments(t.Seed, n, t.Kills, report.timeline))
	if err != nil {
		return Trial{}, err
	}
	tr.report.N = n
	limit := minTimeout + timeoutFactor*report.Undisturbed
	bounded, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the session has not ended after %s", limit.Round(time.Second)))
	defer cancel()
	last, _, err := tr.run(bounded)
	left, errLeft := tr.endLeftProcesses(ctx)
	if ctx.Err() != nil || errLeft != nil {
		return Trial{}, errors.Join(context.Cause(ctx), errLeft)
	}
	tr.report.LeftProcesses = left
	if err != nil {
		tr.report.Differences = []Difference{{Where: "the run", Want: "an end", Got: err.Error()}}
	} else if tr.report.Differences, err = tr.compare(want, report.Unstable, last); err != nil {
		return Trial{}, err
	}
	if !t.Keep && tr.report.Equal() {
		tr.report.Dir = ""
		return tr.report, os.RemoveAll(dir)
	}
	return tr.report, nil
}

// compare returns the differences from the undisturbed run. A missing session is a difference, too, with the
// last command's output.
func (t *trial) compare(want Outcome, leftOut []Difference, last processEnd) ([]Difference, error) {
	got, err := t.outcome()
	if errors.Is(err, os.ErrNotExist) {
		return []Difference{{Where: "the session", Want: "a journal", Got: fmt.Sprintf("none; the last command ended with exit code %d: %s", last.code, jsonLine(last.text))}}, nil
	}
	if err != nil {
		return nil, err
	}
	unstable := map[string]bool{}
	for _, d := range leftOut {
		unstable[d.position()] = true
	}
	return slices.DeleteFunc(want.Diff(got), func(d Difference) bool { return unstable[d.position()] }), nil
}

// position identifies a difference without the number of the differing line. In names of missing or unexpected files
// it replaces the digits.
func (d Difference) position() string {
	at, _, _ := strings.Cut(d.Path, "line ")
	where := d.Where
	if d.Path == "" && !strings.HasPrefix(where, eventsPrefix) {
		where = digits.ReplaceAllString(where, "#")
	}
	return where + "\x00" + strings.TrimSuffix(at, ".")
}

var digits = regexp.MustCompile(`\d+`)
