package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/engine/internal/attempt"
	"github.com/dodo-digital/agent-pipelines/kernel/lock"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// preflight asks every provider, strategy and hook action of the plan whether it would work, once for each use of it, and
// those of the notify settings, before anything is written: a missing CLI or a broken plugin costs no iteration.
func (s *session) preflight(ctx context.Context) error {
	known, err := s.blockProviders(ctx)
	if err != nil {
		return err
	}
	var errs []error
	seen := map[string]bool{}
	once := func(n *plan.Node, what string, check func() error) {
		if seen[what] {
			return
		}
		seen[what] = true
		if err := check(); err != nil {
			errs = append(errs, fmt.Errorf("stage %s: %w", n.ID, err))
		}
	}
	for _, n := range stagesOf(s.plan, known) {
		if n.Provider == nil {
			continue
		}
		box := fmt.Sprintf("\x00%+v", s.plan.PolicyOf(n).Sandbox.Complete())
		once(n, fmt.Sprint("provider ", n.Provider.Type, "\x00", n.Provider.Model, box), func() error { return s.checkProvider(ctx, n) })
		if s.plan.PolicyOf(n).Budget.NeedsContext(n.ID) {
			once(n, "context "+n.Provider.Type, func() error { return s.checkContext(ctx, n) })
		}
		once(n, fmt.Sprint("strategy ", n.Termination, box), func() error { return s.checkStrategy(ctx, n) })
		for _, c := range n.Checks {
			once(n, fmt.Sprint("check ", string(c.Config), box), func() error {
				if err := s.checkCheck(ctx, n, c); err != nil {
					return fmt.Errorf("check %s: %w", c.ID, err)
				}
				return nil
			})
		}
	}
	for h := range s.plan.Hooks() {
		if err := s.checkHook(ctx, h); err != nil {
			errs = append(errs, fmt.Errorf("hook at %s: %w", orElse(h.At, string(h.Point)), err))
		}
	}
	return errors.Join(append(errs, s.checkNotify(ctx))...)
}

// checkProvider asks a node's provider whether it would work.
func (s *session) checkProvider(ctx context.Context, n *plan.Node) error {
	p, err := s.components().provider(ctx, n.Provider.Type, n)
	if err != nil {
		return err
	}
	v, ok := p.(sdk.Validator)
	if !ok || s.engine.config.standIn != "" {
		return nil
	}
	return v.Validate(ctx, sdk.ValidateRequest{Model: n.Provider.Model, Mode: sdk.Mode(s.plan.PolicyOf(n).Mode)})
}

// checkContext asks how much the model of a node takes in.
func (s *session) checkContext(ctx context.Context, n *plan.Node) error {
	p, err := s.components().provider(ctx, n.Provider.Type, n)
	if err != nil {
		return nil //nolint:nilerr // checkProvider has said so
	}
	_, err = attempt.ContextOf(p, n)
	return err
}

// checkHook asks a hook's action whether it would work with its configuration. Those of the kernel itself have none.
func (s *session) checkHook(ctx context.Context, h *plan.Hook) error {
	if h.Action == plan.ActionPause || h.Action == plan.ActionConfirm {
		return nil
	}
	action, err := s.components().HookAction(ctx, h, nil)
	if err != nil {
		return err
	}
	return validate(ctx, action, h.Config)
}

// validate asks an action whether it would work with a configuration.
func validate(ctx context.Context, action sdk.HookAction, config json.RawMessage) error {
	v, ok := action.(sdk.Validator)
	if !ok {
		return nil
	}
	return v.Validate(ctx, sdk.ValidateRequest{Config: config})
}

// checkStrategy asks a strategy whether it would work with its configuration.
func (s *session) checkStrategy(ctx context.Context, n *plan.Node) error {
	t := n.Termination
	strategy, err := s.components().strategy(ctx, t.Type(), n)
	if err != nil {
		return err
	}
	v, ok := strategy.(sdk.Validator)
	if !ok {
		return nil
	}
	config, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("render the termination's config: %w", err)
	}
	return v.Validate(ctx, sdk.ValidateRequest{Config: config})
}

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
	holder, held, err := lock.Holder(e.project, name)
	if err == nil && held {
		return alreadyRunning(name, holder.PID)
	}
	return nil // what is wrong with a lock, taking it tells
}

// checkCheck asks the action that makes checks whether it would work with one of the node's that is made.
func (s *session) checkCheck(ctx context.Context, n *plan.Node, c plan.Check) error {
	if c.LeftOut != "" {
		return nil
	}
	action, err := s.components().HookAction(ctx, &plan.Hook{Action: plan.ActionCheck, Config: c.Config}, n)
	if err != nil {
		return err
	}
	return validate(ctx, action, c.Config)
}
