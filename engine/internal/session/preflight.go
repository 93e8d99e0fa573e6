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
	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/engine/internal/source"
	"github.com/dodo-digital/agent-pipelines/engine/internal/verification"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// checkComponents validates every provider, strategy and hook action of a plan, and the notify settings; equal uses by
// stages are validated once. It runs before anything is written: a missing CLI or broken plugin costs no iteration.
// providers are those of the plan's blocks, nil if not known yet.
func checkComponents(ctx context.Context, c environment.Components, providers map[string]event.Provider, notify []settings.Notification) error {
	if providers == nil {
		var err error
		if providers, err = c.BlockProviders(ctx); err != nil {
			return err
		}
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
	for _, n := range environment.ExpandStages(c.Plan, providers) {
		if n.Provider == nil {
			continue
		}
		policy := fmt.Sprintf("\x00%+v", c.Plan.EffectivePolicy(n).Sandbox.Complete())
		once(n, fmt.Sprint("provider ", n.Provider.Type, "\x00", n.Provider.Model, "\x00", c.Plan.EffectivePolicy(n).Mode, policy), func() error { return checkProvider(ctx, c, n) })
		if c.Plan.EffectivePolicy(n).Budget.NeedsContext(n.ID) {
			once(n, "context "+n.Provider.Type, func() error { return checkContext(ctx, c, n) })
		}
		once(n, fmt.Sprint("strategy ", n.Termination, policy), func() error { return checkStrategy(ctx, c, n) })
		for _, check := range n.Checks {
			once(n, fmt.Sprint("check ", string(check.Config), policy), func() error { return validateCheck(ctx, c, n, check) })
		}
	}
	for h := range c.Plan.Hooks() {
		if h.Action == plan.ActionPause || h.Action == plan.ActionConfirm { // these have no configuration
			continue
		}
		if err := checkAction(ctx, c, h, nil); err != nil {
			errs = append(errs, fmt.Errorf("hook at %s: %w", cmp.Or(h.Source, string(h.Point)), err))
		}
	}
	return errors.Join(append(errs, checkNotify(ctx, c, notify))...)
}

// checkProvider validates the configuration of a node's provider.
func checkProvider(ctx context.Context, c environment.Components, n *plan.Node) error {
	p, err := c.Provider(ctx, n.Provider.Type, n)
	if err != nil {
		return err
	}
	v, ok := p.(sdk.Validator)
	if !ok || c.ProviderOverride != "" {
		return nil
	}
	return v.Validate(ctx, sdk.ValidateRequest{Model: n.Provider.Model, Mode: sdk.Mode(c.Plan.EffectivePolicy(n).Mode)})
}

// checkContext checks that the context size of a node's model is known.
func checkContext(ctx context.Context, c environment.Components, n *plan.Node) error {
	p, err := c.Provider(ctx, n.Provider.Type, n)
	if err != nil {
		return nil //nolint:nilerr // checkProvider has said so
	}
	_, err = prompt.ContextTokens(p, n)
	return err
}

// validateCheck validates the configuration of a node's check, unless the plan skips it.
func validateCheck(ctx context.Context, c environment.Components, n *plan.Node, check plan.Check) error {
	if check.SkipReason != "" || check.Type() == plan.CheckDelivery {
		return nil
	}
	if err := checkAction(ctx, c, &plan.Hook{Action: plan.ActionCheck, Config: check.Config}, n); err != nil {
		return fmt.Errorf("check %s: %w", check.ID, err)
	}
	return nil
}

// checkAction validates the configuration of a hook's action, which may be a check of a node.
func checkAction(ctx context.Context, c environment.Components, h *plan.Hook, n *plan.Node) error {
	action, err := c.HookAction(ctx, h, n)
	if err != nil {
		return err
	}
	return validate(ctx, action, h.Config)
}

// validate validates the configuration of a component, if the component can do so.
func validate(ctx context.Context, component any, config json.RawMessage) error {
	v, ok := component.(sdk.Validator)
	if !ok {
		return nil
	}
	return v.Validate(ctx, sdk.ValidateRequest{Config: config})
}

// checkStrategy validates the configuration of a node's termination strategy.
func checkStrategy(ctx context.Context, c environment.Components, n *plan.Node) error {
	t := n.Termination
	strategy, err := c.Termination(ctx, t.Type(), n)
	if err != nil {
		return err
	}
	config, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("render the termination's config: %w", err)
	}
	return validate(ctx, strategy, config)
}

// checkNotify validates the notify entries of the settings with their actions.
func checkNotify(ctx context.Context, c environment.Components, notify []settings.Notification) error {
	var errs []error
	for _, n := range notify {
		action, err := c.NotifyAction(ctx, n)
		if err == nil {
			err = validate(ctx, action, n.Config)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("notify at %s: %w", n.At, hintNotifyKeys(err)))
		}
	}
	return errors.Join(errs...)
}

// hintNotifyKeys adds the keys common to all notify entries to an error about an action's keys.
func hintNotifyKeys(err error) error {
	var f *failure.Error
	if !errors.As(err, &f) || f.Kind != failure.ConfigInvalid || f.Hint != "" {
		return err
	}
	return f.WithHint("use the action's own keys, or action, on and timeout")
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

// Preflight checks whether [Supervisor.Run] would begin with these options, and fails as it would: faults of
// files, missing or misconfigured providers, a running or existing session. It writes nothing. Run checks
// again.
func (e *Supervisor) Preflight(ctx context.Context, o source.RunOptions) (*PreflightResult, error) {
	src, err := source.Start(ctx, e.env, o)
	if err != nil {
		return nil, err
	}
	if err := e.checkStartable(src.Session, o.Force); err != nil {
		return nil, err
	}
	if err := e.checkUnlocked(src.Session, o.Force); err != nil {
		return nil, err
	}
	components := e.env.Components(e.env.Host, src.Plan, src.Configs, nil) // its processes end with the engine
	if err := checkComponents(ctx, components, nil, e.env.Notifications()); err != nil {
		return nil, err
	}
	return &PreflightResult{Session: src.Session, Dir: e.env.Project.Abs(store.RunsDir + "/" + src.Session), Warnings: src.Warnings}, nil
}

// PreflightResume checks whether [Supervisor.Resume] would continue with these options, and fails as it would. It
// writes nothing.
func (e *Supervisor) PreflightResume(ctx context.Context, o ResumeOptions) (*PreflightResult, error) {
	configs, warnings, err := e.env.Settings.Assign(ctx, e.env.Host)
	if err != nil {
		return nil, err
	}
	if err := e.checkUnlocked(o.Session, o.Force); err != nil {
		return nil, err
	}
	dir, err := inspect.Open(e.env, o.Session)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	s := newSetup(newHandle(e.env, o.Session, dir), e.env.Host, configs, o.Sandbox)
	p, _ := inspect.LoadPlan(dir) // an error is reported where the plan is needed
	replayed, err := s.handle.replayReadOnly(p)
	if err != nil {
		return nil, err
	}
	st, recovered, err := s.recoverState(ctx, replayed)
	if err != nil {
		return nil, err
	}
	if !canContinue(st, o) {
		return nil, finalError(st, o)
	}
	if err := s.checkResumable(ctx, st, recovered, o); err != nil {
		return nil, err
	}
	if err := verification.RefuseChanged(ctx, dir, s.handle.log); err != nil {
		return nil, err
	}
	return &PreflightResult{Session: o.Session, Dir: dir.Path(), Warnings: warnings}, nil
}

// checkResumable returns why a session that has not ended cannot be resumed with these options. recovered is the
// recovered state, nil if the journal is complete.
func (s *setup) checkResumable(ctx context.Context, st state.State, recovered *recoveredState, o ResumeOptions) error {
	if err := checkResume(s.plan, st, o); err != nil {
		return err
	}
	if used := schedule.RunGuardrailFailure(s.plan, st); used != nil && !o.Force {
		return timeUsedUpError(s.handle.name, used)
	}
	if recovered == nil || recovered.src == nil { // otherwise the plan was compiled again and is not in plan.json yet
		if err := s.checkPlan(st.PlanSHA256); err != nil {
			return err
		}
	}
	s.providers = st.Providers
	st.Confined = st.Confined || s.confinement(ctx).Confined
	if _, faults := s.readResolutions(st); len(faults) > 0 {
		return s.handle.env.RedactDiagnostics(faults)
	}
	return s.preflight(ctx)
}

// preflight checks the components of the session's plan.
func (s *setup) preflight(ctx context.Context) error {
	return checkComponents(ctx, s.components(), s.providers, s.handle.env.Notifications())
}

// canContinue reports whether a session has not ended, or is to be reopened.
func canContinue(st state.State, o ResumeOptions) bool {
	return !st.Status.Final() || st.Status == state.Completed && o.Reopen && o.Rerun != ""
}
