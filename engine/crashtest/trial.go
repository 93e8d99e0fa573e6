package crashtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
)

// Exit codes of agent-pipelines that a trial interprets.
const (
	exitNothingToResume = 14 // nothing to resume: killed before the session began
	exitSessionEnded    = 15 // killed after the session had ended
)

// Limits of a trial.
const (
	maxRounds   = 200 // processes per trial: a pipeline may ask without end
	maxFailures = 3   // failed ends after a kill (recovery: fail); each is resumed
)

// Trials runs a pipeline in copies of its project: twice undisturbed, then once per trial, in which the
// kernel is killed with SIGKILL and the session resumed until it ends.
//
// Every provider is the mock; no webhooks or notifications are sent. Commands of scripts, checks, queues and
// wraps run for real, in the copy.
type Trials struct {
	// Command returns an agent-pipelines command with the arguments; the trial adds environment and
	// directory.
	Command func(ctx context.Context, args ...string) *exec.Cmd
	// Start holds the arguments that start the session named Session in the foreground.
	Start   []string
	Session string
	// Project is the absolute directory to copy. With lists optional directories to copy (.git, node_modules, .venv),
	// LeaveOut lists names not to copy, Ignore names not to compare. Names may use * and ?; a leading / means the
	// project's root, a trailing / a directory.
	Project  string
	With     []string
	LeaveOut []string
	Ignore   []string
	// NoHooks skips all hook actions, not only webhooks; checks still run.
	NoHooks bool

	// Kills is the number of trials, Seed the seed of their moments. Only, if not 0, is the number of the only trial
	// to run, from 1. Equal values repeat the same moments.
	Kills int
	Seed  uint64
	Only  int
	// Parallel is the number of concurrent trials, at least one.
	Parallel int
	// Keep keeps all copies. By default, copies of trials with differences or left processes are kept, and the copy
	// of the undisturbed run with them.
	Keep bool
	// Observe is called with each finished trial, never concurrently. ObserveUndisturbed is called once, after the
	// undisturbed runs and before the trials. Both may be nil.
	Observe            func(Trial)
	ObserveUndisturbed func(Report)
}

// trial runs one session in a copy of the project.
type trial struct {
	trials   *Trials
	dir      string
	project  *project
	watchdog watchdog
	report   Trial
}

// newTrial copies the project for a trial and returns the trial.
func (t *Trials) newTrial(dir string, p *project, moments []Moment) (*trial, error) {
	if err := os.CopyFS(dir, os.DirFS(p.dir)); err != nil {
		return nil, err
	}
	tr := &trial{trials: t, dir: dir, project: p, report: Trial{Dir: dir, Moments: moments}}
	tr.watchdog = watchdog{journal: filepath.Join(tr.session(), journalFile), moments: moments}
	return tr, nil
}

func (t *trial) session() string {
	return filepath.Join(t.dir, ".claude/pipeline-runs", t.trials.Session)
}

// command returns the command in the copy, with the mock replacing every provider.
func (t *trial) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := t.trials.Command(ctx, args...)
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Dir = t.dir
	skip := "notify,webhook"
	if t.trials.NoHooks {
		skip = "notify,all"
	}
	cmd.Env = append(cmd.Env, "PROJECT_ROOT="+t.dir, "PWD="+t.dir, "MOCK_MODE=true", "AGENT_PIPELINES_SKIP_HOOKS="+skip,
		"XDG_STATE_HOME="+filepath.Join(filepath.Dir(t.dir), "state")) // the heads of journals go with the copies
	return cmd
}

// run runs the session from start to end: it resumes after kills and pauses, and approves questions.
func (t *trial) run(ctx context.Context) (last processEnd, s sessionState, err error) {
	failures := 0
	args := t.trials.Start
	for range maxRounds {
		if last, err = t.watchdog.run(ctx, t.command(ctx, args...)); err != nil {
			return last, s, err
		}
		if args[0] == "resume" {
			t.report.Resumes++
		}
		args = []string{"resume", t.trials.Session}
		if last.killed {
			t.report.Kills++
			t.report.Positions = append(t.report.Positions, t.lastLine())
			continue
		}
		if s, err = readState(t.session()); err != nil {
			return last, s, err
		}
		switch {
		case s.Status == "" && last.code == exitNothingToResume && t.report.Kills > 0:
			args = t.trials.Start
		case s.Status == "paused" && len(s.Waiting) > 0:
			t.report.Approvals++
			args = []string{"answer", t.trials.Session, s.Waiting[0], event.AnswerApprove}
		case s.Status == "paused":
		case s.Status == "failed" && t.report.Kills > 0 && failures < maxFailures && last.code != exitSessionEnded:
			failures++
		default:
			return last, s, nil
		}
	}
	return last, s, fmt.Errorf("the run does not end: after %d commands it is %s", maxRounds, cmp.Or(s.Status, "not there"))
}

// sessionState holds the parts of state.json that a trial needs.
type sessionState struct {
	Status  string   `json:"status"`
	Waiting []string `json:"waiting"` // ids of questions
	// Scheduler holds the error of a failed run.
	Scheduler struct {
		Failure *event.FailureData `json:"failure"`
	} `json:"scheduler"`
}

// readState reads the state of a session; the zero state if there is none.
func readState(session string) (s sessionState, err error) {
	b, err := os.ReadFile(filepath.Join(session, "state.json"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err == nil:
		err = json.Unmarshal(b, &s)
	}
	if err != nil {
		err = fmt.Errorf("read state of %s: %w", session, err)
	}
	return s, err
}

// lastLine describes the last event of the journal, "before the first line" for none.
func (t *trial) lastLine() string {
	journal, err := readJournal(t.watchdog.journal)
	if err != nil || len(journal) == 0 {
		return "before the first line"
	}
	last := journal[len(journal)-1]
	return fmt.Sprintf("at line %d, %s", t.watchdog.fromLine, eventName(last))
}

// outcome reads the outcome of the session and the project's changes.
func (t *trial) outcome() (Outcome, error) {
	o, r, err := read(t.session(), t.dir)
	if err != nil {
		return o, err
	}
	now, err := t.project.digests(t.dir)
	if err != nil {
		return o, err
	}
	changed, err := r.changes(t.dir, t.project.files, now)
	maps.Copy(o.files, changed)
	return o, err
}

// sweepGrace is the time that a left process has to end after TERM.
const sweepGrace = 200 * time.Millisecond

// endLeftProcesses ends the processes that the trial left and returns them. It ignores the end of ctx.
func (t *trial) endLeftProcesses(ctx context.Context) ([]Process, error) {
	found, err := new(process.Table).Sweep(context.WithoutCancel(ctx), []string{t.dir + "/"}, sweepGrace)
	var list []Process
	for _, s := range found {
		list = append(list, Process{PID: s.PID, Command: s.Command, Ended: s.Ended})
	}
	return list, err
}

// endError returns the error of a trial whose run did not complete.
func endError(last processEnd, s sessionState) *EndError {
	e := &EndError{Status: s.Status, Code: last.code, Output: last.text}
	if f := s.Scheduler.Failure; f != nil {
		e.Node, e.Message, e.Reply = f.Node, f.Message, replyFor(f.Node, len(f.Faults) > 0)
	}
	return e
}

// replyFor returns a template of mock replies for a node.
func replyFor(node string, artifact bool) string {
	if artifact {
		return fmt.Sprintf(`{"replies": [{"node": %q, "artifact": {"<field>": "<value>"}}]}`, node)
	}
	return fmt.Sprintf(`{"replies": [{"node": %q, "output": "<the agent's output>", "result": {"summary": "<summary of the work>"}}]}`, node)
}
