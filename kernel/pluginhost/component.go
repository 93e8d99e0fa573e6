package pluginhost

import (
	"context"
	"errors"

	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// call makes a call on a component. The target implements the interface of the component's kind.
type call func(ctx context.Context, target any) error

// componentRef refers to a component of this process or of a plugin.
type componentRef struct {
	caller *caller
	entry  catalog.Entry
	use    Use
}

// Describe returns the catalog's description.
func (r componentRef) Describe() sdk.Component { return r.entry.Component }

// Validate asks the component whether it accepts the configuration.
func (r componentRef) Validate(ctx context.Context, req sdk.ValidateRequest) error {
	return r.call(ctx, req, func(context.Context, any) error { return nil })
}

// call makes a call with a configuration.
func (r componentRef) call(ctx context.Context, with sdk.ValidateRequest, c call) error {
	return r.invoke(ctx, func(ctx context.Context, g *callGuard) error {
		return g.Call(ctx, with, func(ctx context.Context) error { return c(ctx, g.Target()) })
	})
}

// invoke makes the invocation on the component's guard. The error contains no secret.
func (r componentRef) invoke(ctx context.Context, p invocation) error {
	if g, ok := r.entry.Target.(*callGuard); ok {
		if err := checkConfinable(r.entry.Component, r.use); err != nil {
			return err
		}
		return r.redactError(p(ctx, g))
	}
	return r.redactError(r.caller.invoke(ctx, r.entry, r.use, p))
}

// redactError removes the secrets from a component's failure.
func (r componentRef) redactError(err error) error {
	var f *failure.Error
	if !errors.As(err, &f) {
		return err
	}
	clean := *f
	text := r.caller.cfg.Redactor.Text
	clean.Message, clean.Hint, clean.Detail = text(f.Message), text(f.Hint), text(f.Detail)
	if clean.Message == f.Message && clean.Hint == f.Hint && clean.Detail == f.Detail {
		return err
	}
	return &clean
}

type provider struct{ componentRef }

var (
	_ sdk.Validator = (*provider)(nil)
	_ sdk.Diagnoser = (*provider)(nil)
)

// Execute implements sdk.Provider.
func (p *provider) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (result sdk.ExecuteResult, err error) {
	err = p.call(ctx, sdk.ValidateRequest{Model: req.Model, Config: req.Config, Mode: req.Mode}, func(ctx context.Context, target any) (err error) {
		failpoint.Point("plugin.execute.before")
		result, err = target.(sdk.Provider).Execute(ctx, req, x)
		failpoint.Point("plugin.execute.after")
		return err
	})
	var f *failure.Error
	if errors.As(err, &f) {
		result.Error = f // the pool may have replaced the plugin's failure
	}
	return result, err
}

// Diagnose implements sdk.Diagnoser; the provider must have accepted the configuration.
func (p *provider) Diagnose(ctx context.Context, req sdk.ValidateRequest) (findings []sdk.Finding, err error) {
	err = p.call(ctx, req, func(ctx context.Context, target any) (err error) {
		if x, ok := target.(sdk.Diagnoser); ok {
			findings, err = x.Diagnose(ctx, req)
		}
		return err
	})
	for i, f := range findings {
		findings[i].Detail, findings[i].Hint = p.caller.cfg.Redactor.Text(f.Detail), p.caller.cfg.Redactor.Text(f.Hint)
	}
	return findings, err
}

type termination struct{ componentRef }

var _ sdk.Releaser = (*termination)(nil)

// Decide implements sdk.Termination.
func (t *termination) Decide(ctx context.Context, req sdk.DecideRequest) (d sdk.Decision, err error) {
	err = t.call(ctx, sdk.ValidateRequest{Config: req.Config}, func(ctx context.Context, target any) (err error) {
		failpoint.Point("plugin.decide.before")
		d, err = target.(sdk.Termination).Decide(ctx, req)
		failpoint.Point("plugin.decide.after")
		return err
	})
	return d, err
}

// Release implements sdk.Releaser. A release has no configuration, so none is validated.
func (t *termination) Release(ctx context.Context, session string) error {
	return t.invoke(ctx, func(ctx context.Context, g *callGuard) error {
		r, ok := g.Target().(sdk.Releaser)
		if !ok {
			return nil
		}
		if err := g.Init(ctx); err != nil {
			return err
		}
		failpoint.Point("plugin.release.before")
		err := r.Release(ctx, session)
		failpoint.Point("plugin.release.after")
		return err
	})
}

type hookAction struct{ componentRef }

// Run implements sdk.HookAction.
func (a *hookAction) Run(ctx context.Context, req sdk.HookRequest) (answer sdk.HookAnswer, err error) {
	err = a.call(ctx, sdk.ValidateRequest{Config: req.Config}, func(ctx context.Context, target any) (err error) {
		failpoint.Point("plugin.run.before")
		answer, err = target.(sdk.HookAction).Run(ctx, req)
		failpoint.Point("plugin.run.after")
		return err
	})
	return answer, err
}
