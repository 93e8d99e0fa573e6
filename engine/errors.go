package engine

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// What callers tell apart by errors.Is. The errors that wrap them say which session, and what to do.
var (
	// ErrNoSession: there is no such session.
	ErrNoSession = store.ErrNoSession
	// ErrSessionName: a text cannot name a session.
	ErrSessionName = store.ErrSessionName
	// ErrNothingToResume: there is nothing that could go on.
	ErrNothingToResume = errors.New("nothing to resume")
	// ErrTerminal: the session has ended for good.
	ErrTerminal = errors.New("session has ended")
	// ErrResumable: the session has work that can be resumed, and starting it anew would hide that.
	ErrResumable = errors.New("session can be resumed")
	// ErrLocked: another kernel holds the session.
	ErrLocked = errors.New("session is locked")
	// ErrOptions: the options contradict each other or lack something.
	ErrOptions = errors.New("invalid options")
)

func runsHere(session string) error {
	return fmt.Errorf("session %q runs in this engine already: %w", session, ErrLocked)
}

// alreadyRunning is the refusal of a session that the process holds, 0 if its number is not known.
func alreadyRunning(name string, pid int) error {
	who := ""
	if pid > 0 {
		who = fmt.Sprintf(" (PID %d)", pid)
	}
	e := failure.New(failure.LockContention, "session '%s' is already running%s", name, who).
		WithHint("`agent-pipelines attach %s` shows it; `agent-pipelines abort %s` ends it; --force takes it over", name, name)
	e.Cause = ErrLocked
	return e
}

// locked lets callers find [ErrLocked] in the lock's refusal.
func locked(err error) error {
	var f *failure.Error
	if errors.As(err, &f) && f.Kind == failure.LockContention {
		c := *f
		c.Cause = errors.Join(ErrLocked, f.Cause)
		return &c
	}
	return err
}

// unreadable refuses to begin where something lies that nobody can read.
func unreadable(name, damage string) error {
	return failure.New(failure.StateCorrupt, "session '%s' exists and is damaged: %s", name, damage).
		WithHint("`agent-pipelines repair %s --dry-run` shows what is known; --force starts again from the beginning", name)
}

// doubtful refuses to go on from a guess.
func doubtful(name string, r recovery.Result) error {
	return failure.New(failure.StateCorrupt, "the journal of session '%s' is damaged: %s", name, r.Doubt).
		WithDetail(strings.Join(r.Lost, "\n")).
		WithHint("`agent-pipelines repair %s --dry-run` shows what is known, `agent-pipelines repair %s` goes on from there", name, name)
}

// refused is why a session cannot do what was asked. Callers find the sentinel by errors.Is; people
// read the message alone.
func refused(sentinel error, format string, args ...any) *failure.Error {
	e := failure.New(failure.SessionState, format, args...)
	e.Cause = sentinel
	return e
}

// occupied is why a session cannot be started anew without force, nil if it can.
func occupied(name string, status state.Status) error {
	word := "is paused"
	switch status {
	case "", state.Pending:
		return nil
	case state.Completed, state.Aborted:
		return terminal(name, status)
	case state.Running:
		word = "crashed"
	case state.Failed:
		word = "failed"
	}
	return refused(ErrResumable, "session '%s' %s and can be resumed", name, word).
		WithHint("`agent-pipelines resume %s` goes on; --force starts again from the beginning", name)
}

func terminal(name string, status state.Status) error {
	return refused(ErrTerminal, "session '%s' %s", name, ended(status)).
		WithHint("use --force to restart it from the beginning in the same folder, or give another session name")
}

// final refuses to go on with a session that has ended.
func final(st state.State, o ResumeOptions) error {
	if o.Again == "" || st.Status != state.Completed {
		return terminal(st.Session, st.Status)
	}
	return refused(ErrTerminal, "session '%s' %s", st.Session, ended(st.Status)).
		WithHint("`agent-pipelines review %s --node=%s --force` does it again, and goes on from there", st.Session, o.Again)
}

// usedUp is why a run that has used up its time cannot go on without force.
func usedUp(name string, why *event.FailureData) error {
	return failure.New(failure.IterationTimeout, "session '%s' cannot go on: %s", name, why.Message).
		WithHint("%s", why.Remedy)
}

// ended says how a session ended for good.
func ended(status state.Status) string {
	if status == state.Aborted {
		return "was aborted"
	}
	return "already completed"
}

// idle is why a session that nobody works on cannot be paused.
func idle(name string, s *Status) error {
	switch {
	case s.Status == "":
		return neverBegan(name)
	case s.Status.Final():
		return refused(ErrTerminal, "session '%s' is not running: it %s", name, ended(s.Status))
	case s.Crashed:
		return refused(ErrNothingToResume, "session '%s' is not running: its process is gone", name).
			WithHint("`agent-pipelines resume %s` goes on; `agent-pipelines abort %s` ends it for good", name, name)
	case s.Status == state.Paused:
		return refused(ErrNothingToResume, "session '%s' is paused already", name).WithHint("`agent-pipelines resume %s` goes on", name)
	default:
		return refused(ErrNothingToResume, "session '%s' is not running: its status is %s", name, s.Status).
			WithHint("`agent-pipelines resume %s` goes on", name)
	}
}

// neverBegan is said of a directory without a run.
func neverBegan(name string) error {
	return refused(ErrNothingToResume, "session '%s' never began: its journal has no events", name).
		WithHint("start it anew")
}

// fits refuses a resume that does not fit how the session stands.
func fits(p *plan.Plan, st state.State, o ResumeOptions) error {
	if err := onceMore(p, st, o); err != nil {
		return err
	}
	if err := sameRuns(st, o.Runs); err != nil || !o.SkipFailedStep {
		return err
	}
	if stepFailed(st) {
		return nil
	}
	at := "its end"
	if n := p.Find(st.At); n != nil {
		at = "stage " + n.ID
	}
	return refused(ErrOptions, "session '%s' has no failed step to skip: it is at %s", st.Session, at).
		WithHint("`agent-pipelines status %s` shows the steps; leave --skip-failed-step out", st.Session)
}

// onceMore refuses to do a node again that cannot be.
func onceMore(p *plan.Plan, st state.State, o ResumeOptions) error {
	if o.Again == "" {
		return nil
	}
	path := pathOf(p, o.Again)
	if path == "" {
		ids := make([]string, len(p.Nodes))
		for i, n := range p.Nodes {
			ids[i] = n.ID
		}
		return refused(ErrOptions, "session '%s' has no stage %q", st.Session, o.Again).WithHint("it has %s", strings.Join(ids, ", "))
	}
	if err := schedule.CanEnterAgain(p, st, path); err != nil {
		return refused(ErrOptions, "%s cannot be done again in session '%s': %w", o.Again, st.Session, err).
			WithHint("`agent-pipelines status %s` shows where it is; `agent-pipelines resume %s` goes on there", st.Session, st.Session)
	}
	return nil
}

// sameRuns refuses a number of runs that is not the one the session was started with; 0 is no word about it.
func sameRuns(st state.State, said int) error {
	had := max(st.Runs, 1)
	if said == 0 || said == had {
		return nil
	}
	times := "once"
	if had > 1 {
		times = fmt.Sprintf("%d times", had)
	}
	return refused(ErrOptions, "session '%s' was started to run its pipeline %s, not %d times", st.Session, times, said).
		WithHint("a resume needs no number of runs: `agent-pipelines resume %s`", st.Session)
}
