package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Prospect is a run or resume that could begin now.
type PreflightResult struct {
	// Session is the session's name; where none was given, the one that was made up.
	Session string
	// Dir is the absolute path of the session's directory, which need not exist yet.
	Dir string
	// Warnings are what the author of the pipeline should know.
	Warnings Diagnostics
}

// Preflight finds out whether [Engine.Run] would begin with these options and fails as it would: files
// that do not compile, providers that are missing or misconfigured, a session that runs or exists. It
// writes nothing. What changes afterwards, Run finds out itself.
func (e *Engine) Preflight(ctx context.Context, o RunOptions) (*PreflightResult, error) {
	src, err := e.starting(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := e.startable(src.session, o.Force); err != nil {
		return nil, err
	}
	if err := e.free(src.session, o.Force); err != nil {
		return nil, err
	}
	if err := e.tryComponents(ctx, src.plan, src.configs); err != nil {
		return nil, err
	}
	return &PreflightResult{Session: src.session, Dir: e.dirOf(src.session), Warnings: src.warnings}, nil
}

// PreflightResume finds out whether [Engine.Resume] would go on with these options and fails as it would.
// It writes nothing.
func (e *Engine) PreflightResume(ctx context.Context, o ResumeOptions) (*PreflightResult, error) {
	configs, warnings, err := e.settings.assign(ctx, e.host)
	if err != nil {
		return nil, err
	}
	if err := e.free(o.Session, o.Force); err != nil {
		return nil, err
	}
	dir, err := e.open(o.Session)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	s := &session{engine: e, name: o.Session, log: e.log.With("session", o.Session), dir: dir, host: e.host, configs: configs, sandbox: o.Sandbox}
	if err := s.resumable(ctx, o); err != nil {
		return nil, err
	}
	if _, faults := s.resolutions(); len(faults) > 0 {
		return nil, e.clean(faults)
	}
	if err := s.preflight(ctx); err != nil {
		return nil, err
	}
	return &PreflightResult{Session: o.Session, Dir: dir.Path(), Warnings: warnings}, nil
}

// resumable reads the session's files and says why it cannot go on, nil if it can.
func (s *session) resumable(ctx context.Context, o ResumeOptions) error {
	p, _ := loadPlan(s.dir) // why it cannot be read is said where it is needed
	var err error
	if s.past, err = s.readPast(p); err != nil {
		return err
	}
	from, err := s.recall(ctx)
	switch {
	case err != nil:
		return err
	case !s.mayGoOn(o):
		return final(s.state, o)
	case schedule.UsedUp(s.plan, s.state) != nil && !o.Force:
		return usedUp(s.name, schedule.UsedUp(s.plan, s.state))
	case from != nil && from.src != nil:
		return fits(s.plan, s.state, o)
	default:
		return errors.Join(fits(s.plan, s.state, o), s.checkPlan())
	}
}

// tryComponents asks the plan's providers and strategies whether they would work. Their processes end
// with the engine.
func (e *Engine) tryComponents(ctx context.Context, p *plan.Plan, configs userConfigs) error {
	s := &session{engine: e, host: e.host, plan: p, configs: configs}
	return s.preflight(ctx)
}

// free refuses a session that a kernel holds, unless by force.
func (e *Engine) free(name string, force bool) error {
	if force {
		return nil
	}
	if err := store.CheckSession(name); err != nil {
		return err
	}
	holder, held, err := store.LockHolder(e.project, name)
	if err == nil && held {
		return alreadyRunning(name, holder.PID)
	}
	return nil // what is wrong with a lock, taking it tells
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

func (e *Engine) dirOf(session string) string { return e.project.Abs(store.RunsDir + "/" + session) }
