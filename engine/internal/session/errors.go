package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// These errors are for errors.Is. The wrapping errors name the session and give a hint.
var (
	// ErrNothingToResume says that the session has no work to resume.
	ErrNothingToResume = inspect.ErrNothingToResume
	// ErrTerminal says that the session has completed or was aborted.
	ErrTerminal = errors.New("session has ended")
	// ErrResumable says that the session has unfinished work, which a new start would discard.
	ErrResumable = errors.New("session can be resumed")
	// ErrLocked says that another kernel holds the session.
	ErrLocked = errors.New("session is locked")
	// ErrNoQuestion says that the session has no such open question.
	ErrNoQuestion = errors.New("no such question")
	// ErrOptions says that the options are invalid, contradict each other or are incomplete.
	ErrOptions = environment.ErrOptions
)

func runsHereError(session string) error {
	return fmt.Errorf("session %q is already running in this engine: %w", session, ErrLocked)
}

// wrapLocked makes a lock's error match [ErrLocked].
func wrapLocked(err error) error {
	var f *failure.Error
	if errors.As(err, &f) && f.Kind == failure.LockContention {
		c := *f
		c.Cause = errors.Join(ErrLocked, f.Cause)
		return &c
	}
	return err
}

// damagedError refuses a start in the directory of a damaged session.
func damagedError(name, damage string) error {
	return failure.New(failure.StateCorrupt, "session '%s' exists and is damaged: %s", name, damage).
		WithHint("inspect it with `%s`, or start again with %s", failure.Next("repair", name, "--dry-run"), failure.Option("force"))
}

// doubtfulStateError refuses to continue from a guess.
func doubtfulStateError(name string, r recovery.Result) error {
	return failure.New(failure.StateCorrupt, "the journal of session '%s' is damaged: %s", name, r.Doubt).
		WithDetail(strings.Join(r.Lost, "\n")).
		WithHint("inspect it with `%s`, then run `%s`", failure.Next("repair", name, "--dry-run"), failure.Next("repair", name))
}

// existsError says why a session cannot be started again without force, nil if it can.
func existsError(name string, status state.Status) error {
	word := "is paused"
	switch status {
	case "", state.Pending:
		return nil
	case state.Completed, state.Aborted:
		return terminalError(name, status)
	case state.Running:
		word = "crashed"
	case state.Failed:
		word = "failed"
	}
	return inspect.NewError(ErrResumable, "session '%s' %s and can be resumed", name, word).
		WithHint("continue with `%s`, or start again with %s", failure.Next("resume", name), failure.Option("force"))
}

func terminalError(name string, status state.Status) error {
	return inspect.NewError(ErrTerminal, "session '%s' %s", name, EndedText(status)).
		WithHint("use %s to restart it from the beginning in the same folder, or give another session name", failure.Option("force"))
}

// finalError refuses to resume an ended session.
func finalError(st state.State, o ResumeOptions) error {
	if o.Rerun == "" || st.Status != state.Completed {
		return terminalError(st.Session, st.Status)
	}
	return inspect.NewError(ErrTerminal, "session '%s' %s", st.Session, EndedText(st.Status)).
		WithHint("`%s` runs the node again and continues from there", failure.Next("review", st.Session, "--node="+o.Rerun, "--force"))
}

// timeUsedUpError refuses a resume without force after the run's time limit.
func timeUsedUpError(name string, why *event.FailureData) error {
	return failure.New(failure.IterationTimeout, "session '%s' cannot continue: %s", name, why.Message).
		WithHint("%s", why.Remedy)
}

// EndedText describes how a session ended.
func EndedText(status state.Status) string {
	if status == state.Aborted {
		return "was aborted"
	}
	return "already completed"
}

// NotAcceptedError refuses an event that is invalid in the session's current state.
func NotAcceptedError(name string, invalid error) error {
	return inspect.NewError(ErrNoQuestion, "session '%s' no longer accepts this: %v", name, invalid).
		WithHint("check its state with `%s`", failure.Next("status", name))
}

// checkResume refuses a resume whose options do not match the session's state.
func checkResume(p *plan.Plan, st state.State, o ResumeOptions) error {
	if err := checkRerun(p, st, o); err != nil {
		return err
	}
	if err := checkRunCount(st, o.Runs); err != nil || !o.SkipFailedStep {
		return err
	}
	if inspect.HasFailedStep(st) {
		return nil
	}
	at := "its end"
	if n := p.Find(st.At); n != nil {
		at = "stage " + n.ID
	}
	return inspect.NewError(ErrOptions, "session '%s' has no failed step to skip: it is at %s", st.Session, at).
		WithHint("omit %s; `%s` shows the steps", failure.Option("skip_failed_step"), failure.Next("status", st.Session))
}

// checkRerun refuses to rerun a node that cannot be rerun.
func checkRerun(p *plan.Plan, st state.State, o ResumeOptions) error {
	if o.Rerun == "" {
		return nil
	}
	path := nodePath(p, o.Rerun)
	if path == "" {
		ids := make([]string, len(p.Nodes))
		for i, n := range p.Nodes {
			ids[i] = n.ID
		}
		return inspect.NewError(ErrOptions, "session '%s' has no stage %q", st.Session, o.Rerun).WithHint("use one of %s", strings.Join(ids, ", "))
	}
	if err := progress.CheckReentry(p, st, path); err != nil {
		return inspect.NewError(ErrOptions, "%s cannot be run again in session '%s': %w", o.Rerun, st.Session, err).
			WithHint("continue with `%s`; `%s` shows the current stage", failure.Next("resume", st.Session), failure.Next("status", st.Session))
	}
	return nil
}

// checkRunCount refuses a number of runs that differs from the session's; 0 stands for no number.
func checkRunCount(st state.State, runs int) error {
	had := max(st.Runs, 1)
	if runs == 0 || runs == had {
		return nil
	}
	times := "once"
	if had > 1 {
		times = fmt.Sprintf("%d times", had)
	}
	return inspect.NewError(ErrOptions, "session '%s' was started to run its pipeline %s, not %d times", st.Session, times, runs).
		WithHint("omit the number of runs: `%s`", failure.Next("resume", st.Session))
}

// nodePath returns the path of a node of the pipeline itself, "" for none.
func nodePath(p *plan.Plan, id string) string {
	for _, n := range p.Nodes {
		if n.ID == id && id != "" {
			return n.Path
		}
	}
	return ""
}

// nextMember matches the members of failures and questions that hold a [failure.NextStep] or a
// [failure.Option].
var nextMember = regexp.MustCompile(`"(?:remedy|resume_command)":"(?:[^"\\]|\\.)*"`)

// completeCommands completes the command lines and options of an event's failures. All other texts stay as they are.
func completeCommands(data json.RawMessage, program string) json.RawMessage {
	return nextMember.ReplaceAllFunc(data, func(member []byte) []byte { return []byte(failure.Render(string(member), program)) })
}
