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
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
)

// Exit codes of the command that a trial goes by.
const (
	codeNothing  = 14 // there is nothing to resume: it was killed before the session began
	codeTerminal = 15 // it was killed after the session had ended
)

// Bounds of a trial.
const (
	maxRounds   = 200 // processes, for pipelines that ask again and again
	maxFailures = 3   // ends as failed after a kill, as recovery: fail has it; each is resumed
)

// trial is one session in a copy of the project, from its beginning to its end.
type trial struct {
	of     *Trials
	dir    string
	was    snapshot
	dog    watchdog
	report Trial
}

// newTrial copies the project.
func (t *Trials) newTrial(dir string, p *project, moments []Moment) (*trial, error) {
	was, err := p.copyTo(dir)
	if err != nil {
		return nil, err
	}
	tr := &trial{of: t, dir: dir, was: was, report: Trial{Dir: dir, Moments: moments}}
	tr.dog = watchdog{journal: filepath.Join(tr.session(), journalFile), moments: moments}
	return tr, nil
}

func (t *trial) session() string { return filepath.Join(t.dir, ".claude/pipeline-runs", t.of.Session) }

// command is the program in the copy, with the mock in the place of every provider.
func (t *trial) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := t.of.Command(ctx, args...)
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Dir = t.dir
	skip := []string{skipNotify}
	if t.of.NoHooks {
		skip = append(skip, skipAll)
	} else {
		skip = append(skip, skipWebhook)
	}
	cmd.Env = append(cmd.Env, "PROJECT_ROOT="+t.dir, "PWD="+t.dir, "MOCK_MODE=true", "AGENT_PIPELINES_SKIP_HOOKS="+strings.Join(skip, ","))
	return cmd
}

// The words of AGENT_PIPELINES_SKIP_HOOKS.
const (
	skipNotify  = "notify"  // nobody is told how a session stands
	skipWebhook = "webhook" // nothing is sent
	skipAll     = "all"     // no action is called
)

// run goes from the start to the end of the session: it resumes what was killed, approves what is asked, and resumes
// what is paused.
func (t *trial) run(ctx context.Context) (last ending, s sessionState, err error) {
	failures := 0
	args := t.of.Start
	for range maxRounds {
		if last, err = t.dog.run(ctx, t.command(ctx, args...)); err != nil {
			return last, s, err
		}
		if args[0] == "resume" {
			t.report.Resumes++
		}
		args = []string{"resume", t.of.Session}
		if last.killed {
			t.report.Kills++
			t.report.At = append(t.report.At, t.lastLine())
			continue
		}
		if s, err = readState(t.session()); err != nil {
			return last, s, err
		}
		switch {
		case s.Status == "" && last.code == codeNothing && t.report.Kills > 0:
			args = t.of.Start
		case s.Status == "paused" && len(s.Waiting) > 0:
			t.report.Approvals++
			args = []string{"answer", t.of.Session, s.Waiting[0], event.AnswerApprove}
		case s.Status == "paused":
		case s.Status == "failed" && t.report.Kills > 0 && failures < maxFailures && last.code != codeTerminal:
			failures++
		default:
			return last, s, nil
		}
	}
	return last, s, fmt.Errorf("the run does not come to an end: after %d commands it is %s", maxRounds, cmp.Or(s.Status, "not there"))
}

// sessionState is what a trial goes by.
type sessionState struct {
	Status  string   `json:"status"`
	Waiting []string `json:"waiting"` // ids of questions
}

// readState reads the state of a session; the zero state if there is none.
func readState(session string) (s sessionState, err error) {
	b, err := os.ReadFile(filepath.Join(session, "state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("read state of %s: %w", session, err)
	}
	return s, nil
}

// lastLine names the last event of the journal, "before the first line" for none.
func (t *trial) lastLine() string {
	journal, err := readJournal(t.dog.journal)
	if err != nil || len(journal) == 0 {
		return "before the first line"
	}
	last := journal[len(journal)-1]
	return fmt.Sprintf("at line %d, %s", t.dog.from, nameOf(last))
}

// outcome is what the session and the project came to.
func (t *trial) outcome() (Outcome, error) {
	o, r, err := read(t.session(), t.dir)
	if err != nil {
		return o, err
	}
	changed, err := r.changes(t.dir, t.was, t.of.Ignore)
	maps.Copy(o.files, changed)
	return o, err
}

// sweepGrace is how long a process that was left may take to end by itself once it is told to.
const sweepGrace = 200 * time.Millisecond

// left finds processes that the trial has left, and ends them. It goes on when ctx ends: they are ended all the same.
func (t *trial) left(ctx context.Context) ([]Process, error) {
	found, err := process.Sweep(context.WithoutCancel(ctx), t.dir+"/", sweepGrace)
	var list []Process
	for _, s := range found {
		list = append(list, Process{PID: s.PID, Command: s.Command, Ended: s.Ended})
	}
	return list, err
}
