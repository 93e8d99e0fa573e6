package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/prompt"
	"github.com/dodo-digital/agent-pipelines/engine/internal/source"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// preflight validates every provider, strategy and hook action of the plan, once for each use, and the notify
// settings. It runs before anything is written: a missing CLI or broken plugin costs no iteration.
func (s *session) preflight(ctx context.Context) error {
	known, err := s.resolveBlockProviders(ctx)
	if err != nil {
		return err
	}
	var errs []error
	seen := map[string]bool{}
	once := func(n *plan.Node, name string, check func() error) {
		if seen[name] {
			return
		}
		seen[name] = true
		if err := check(); err != nil {
			errs = append(errs, fmt.Errorf("stage %s: %w", n.ID, err))
		}
	}
	for _, n := range environment.ExpandStages(s.plan, known) {
		if n.Provider == nil {
			continue
		}
		box := fmt.Sprintf("\x00%+v", s.plan.EffectivePolicy(n).Sandbox.Complete())
		once(n, fmt.Sprint("provider ", n.Provider.Type, "\x00", n.Provider.Model, box), func() error { return s.checkProvider(ctx, n) })
		if s.plan.EffectivePolicy(n).Budget.NeedsContext(n.ID) {
			once(n, "context "+n.Provider.Type, func() error { return s.checkContext(ctx, n) })
		}
		once(n, fmt.Sprint("strategy ", n.Termination, box), func() error { return s.checkStrategy(ctx, n) })
		for _, c := range n.Checks {
			once(n, fmt.Sprint("check ", string(c.Config), box), func() error {
				if err := s.checkCheckAction(ctx, n, c); err != nil {
					return fmt.Errorf("check %s: %w", c.ID, err)
				}
				return nil
			})
		}
	}
	for h := range s.plan.Hooks() {
		if err := s.checkHook(ctx, h); err != nil {
			errs = append(errs, fmt.Errorf("hook at %s: %w", cmp.Or(h.Source, string(h.Point)), err))
		}
	}
	return errors.Join(append(errs, s.checkNotify(ctx))...)
}

// checkProvider validates the configuration of a node's provider.
func (s *session) checkProvider(ctx context.Context, n *plan.Node) error {
	p, err := s.components().ProviderFor(ctx, n.Provider.Type, n)
	if err != nil {
		return err
	}
	v, ok := p.(sdk.Validator)
	if !ok || s.engine.env.Config.ProviderOverride != "" {
		return nil
	}
	return v.Validate(ctx, sdk.ValidateRequest{Model: n.Provider.Model, Mode: sdk.Mode(s.plan.EffectivePolicy(n).Mode)})
}

// checkContext checks that the context size of a node's model is known.
func (s *session) checkContext(ctx context.Context, n *plan.Node) error {
	p, err := s.components().ProviderFor(ctx, n.Provider.Type, n)
	if err != nil {
		return nil //nolint:nilerr // checkProvider has said so
	}
	_, err = prompt.ContextTokens(p, n)
	return err
}

// checkHook validates the configuration of a hook's action. The kernel's own actions have none.
func (s *session) checkHook(ctx context.Context, h *plan.Hook) error {
	if h.Action == plan.ActionPause || h.Action == plan.ActionConfirm {
		return nil
	}
	action, err := s.components().HookAction(ctx, h, nil)
	if err != nil {
		return err
	}
	return validateAction(ctx, action, h.Config)
}

// validateAction validates the configuration of a hook action.
func validateAction(ctx context.Context, action sdk.HookAction, config json.RawMessage) error {
	v, ok := action.(sdk.Validator)
	if !ok {
		return nil
	}
	return v.Validate(ctx, sdk.ValidateRequest{Config: config})
}

// checkStrategy validates the configuration of a node's termination strategy.
func (s *session) checkStrategy(ctx context.Context, n *plan.Node) error {
	t := n.Termination
	strategy, err := s.components().StrategyFor(ctx, t.Type(), n)
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

// PreflightResult describes a run or resume that could begin now.
type PreflightResult struct {
	// Session is the session's name, generated if none was given.
	Session string
	// Dir is the absolute path of the session's directory, which need not exist yet.
	Dir string
	// Warnings holds the compiler's warnings.
	Warnings yamldoc.Diagnostics
}

// Preflight checks whether [Engine.Run] would begin with these options, and fails as it would: faults of
// files, missing or misconfigured providers, a running or existing session. It writes nothing. Run checks
// again.
func (e *Supervisor) Preflight(ctx context.Context, req source.Request, force bool) (*PreflightResult, error) {
	src, err := source.Start(ctx, e.env, req)
	if err != nil {
		return nil, err
	}
	if err := e.checkStartable(src.Session, force); err != nil {
		return nil, err
	}
	if err := e.checkUnlocked(src.Session, force); err != nil {
		return nil, err
	}
	s := &session{engine: e, host: e.env.Host, plan: src.Plan, configs: src.Configs} // its processes end with the engine
	if err := s.preflight(ctx); err != nil {
		return nil, err
	}
	return &PreflightResult{Session: src.Session, Dir: e.env.Project.Abs(store.RunsDir + "/" + src.Session), Warnings: src.Warnings}, nil
}

// PreflightResume checks whether [Engine.Resume] would continue with these options, and fails as it would. It
// writes nothing.
func (e *Supervisor) PreflightResume(ctx context.Context, o ResumeOptions) (*PreflightResult, error) {
	configs, warnings, err := e.env.Settings.Assign(ctx, e.env.Host)
	if err != nil {
		return nil, err
	}
	if err := e.checkUnlocked(o.Session, o.Force); err != nil {
		return nil, err
	}
	dir, err := e.Open(o.Session)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	s := &session{engine: e, name: o.Session, log: e.env.Log.With("session", o.Session), dir: dir, host: e.env.Host, configs: configs, sandbox: o.Sandbox}
	if err := s.checkResumable(ctx, o); err != nil {
		return nil, err
	}
	if _, faults := s.readResolutions(); len(faults) > 0 {
		return nil, e.env.RedactDiagnostics(faults)
	}
	if err := s.preflight(ctx); err != nil {
		return nil, err
	}
	return &PreflightResult{Session: o.Session, Dir: dir.Path(), Warnings: warnings}, nil
}

// checkResumable reads the session's files and returns the error that a resume would fail with.
func (s *session) checkResumable(ctx context.Context, o ResumeOptions) error {
	p, _ := inspect.LoadPlan(s.dir) // reported where the plan is needed
	var err error
	if s.replay, err = s.replayJournal(p); err != nil {
		return err
	}
	from, err := s.recoverState(ctx)
	switch {
	case err != nil:
		return err
	case !s.canContinue(o):
		return finalError(s.state, o)
	case schedule.RunGuardrailFailure(s.plan, s.state) != nil && !o.Force:
		return timeUsedUpError(s.name, schedule.RunGuardrailFailure(s.plan, s.state))
	case from != nil && from.src != nil:
		return checkResume(s.plan, s.state, o)
	default:
		return errors.Join(checkResume(s.plan, s.state, o), s.checkPlan())
	}
}

// checkUnlocked refuses a session that a kernel holds, unless force is set.
func (e *Supervisor) checkUnlocked(name string, force bool) error {
	if force {
		return nil
	}
	if err := store.CheckSession(name); err != nil {
		return err
	}
	holder, held, err := store.LockHolder(e.env.Project, name)
	if err == nil && held {
		return alreadyRunningError(name, holder.PID)
	}
	return nil // acquiring the lock reports damage
}

// checkCheckAction validates a check's configuration with the check action.
func (s *session) checkCheckAction(ctx context.Context, n *plan.Node, c plan.Check) error {
	if c.SkipReason != "" {
		return nil
	}
	action, err := s.components().HookAction(ctx, &plan.Hook{Action: plan.ActionCheck, Config: c.Config}, n)
	if err != nil {
		return err
	}
	return validateAction(ctx, action, c.Config)
}
