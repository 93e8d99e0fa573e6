package pluginhost

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// RegisterProvider adds a provider of this process. It takes precedence over plugins' providers of the same
// name; a name that is already registered is an error.
func (h *Host) RegisterProvider(p sdk.Provider) error {
	return h.register(sdk.KindProvider, p.Describe(), p)
}

// RegisterTermination adds a termination strategy, see [Host.RegisterProvider].
func (h *Host) RegisterTermination(t sdk.Termination) error {
	return h.register(sdk.KindTermination, t.Describe(), t)
}

// RegisterHookAction adds a hook action, see [Host.RegisterProvider].
func (h *Host) RegisterHookAction(a sdk.HookAction) error {
	return h.register(sdk.KindHookAction, a.Describe(), a)
}

func (h *Host) register(kind sdk.Kind, component sdk.Component, target any) error {
	component.Kind = kind
	g := newCallGuard(component, target, sdk.InitRequest{WorkDir: h.cfg.WorkDir, RunMarker: h.marker.String()})
	if err := h.catalog.Register(component, g); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.local = append(h.local, g)
	return nil
}

// Component describes the component with a name or alias. An unknown component is a failure of kind provider_missing
// that lists the existing components.
func (h *Host) Component(ctx context.Context, kind sdk.Kind, name string) (sdk.Component, error) {
	e, err := h.catalog.Find(ctx, kind, name)
	return e.Component, err
}

// LoadError returns why the plugin with exactly this name cannot be used. The error is nil if the plugin can be used
// or does not exist, and before the plugins are described.
func (h *Host) LoadError(name string) *failure.Error { return h.catalog.LoadError(name) }

// DisabledBy returns the setting that disables a component of a bundled plugin.
func (h *Host) DisabledBy(kind sdk.Kind, name string) (by string, off bool) {
	return h.catalog.DisabledBy(kind, name)
}

// Provider returns the provider with the name or alias. It also implements sdk.Validator, for a check before
// the work begins, and sdk.Diagnoser. Init and Validate are called automatically, as the contract promises.
func (h *Host) Provider(ctx context.Context, name string, use Use) (sdk.Provider, error) {
	r, err := h.findComponent(ctx, sdk.KindProvider, name, use)
	if err != nil {
		return nil, err
	}
	return &provider{r}, nil
}

// Termination returns the termination strategy with the name or alias, see [Host.Provider]. It also implements
// sdk.Releaser, which does nothing for strategies without resources.
func (h *Host) Termination(ctx context.Context, name string, use Use) (sdk.Termination, error) {
	r, err := h.findComponent(ctx, sdk.KindTermination, name, use)
	if err != nil {
		return nil, err
	}
	return &termination{r}, nil
}

// HookAction returns the hook action with the name or alias, see [Host.Provider].
func (h *Host) HookAction(ctx context.Context, name string, use Use) (sdk.HookAction, error) {
	r, err := h.findComponent(ctx, sdk.KindHookAction, name, use)
	if err != nil {
		return nil, err
	}
	return &hookAction{r}, nil
}

func (h *Host) findComponent(ctx context.Context, kind sdk.Kind, name string, use Use) (componentRef, error) {
	e, err := h.catalog.Find(ctx, kind, name)
	if err != nil {
		return componentRef{}, err
	}
	return componentRef{caller: h.caller, entry: e, use: use}, nil
}

// CheckSandbox returns an error if a component cannot be confined as use requires, without starting it.
func (h *Host) CheckSandbox(ctx context.Context, kind sdk.Kind, name string, use Use) error {
	e, err := h.catalog.Find(ctx, kind, name)
	if err != nil {
		return nil //nolint:nilerr // the call of the component returns the error
	}
	if e.Target != nil {
		return checkConfinable(e.Component, use)
	}
	b, err := h.cfg.sandboxPolicy(e, e.Component, use)
	if err != nil || b == nil {
		return err
	}
	_, err = h.sandbox.Check(ctx, *b)
	return err
}

// DefaultNetwork returns the network of a confined component without a request for one.
func (h *Host) DefaultNetwork(ctx context.Context, kind sdk.Kind, name string) plan.Network {
	e, err := h.catalog.Find(ctx, kind, name)
	if err != nil {
		return plan.NetworkOff // the call of the component returns the error
	}
	return defaultNetwork(e, e.Component)
}

// Probe reports the capabilities of a mode of isolation with network access, and with tools that have none. It starts a
// process in that mode.
func (h *Host) Probe(ctx context.Context, mode sandboxpolicy.Mode) (sandboxpolicy.Capabilities, error) {
	return h.sandbox.Check(ctx, sandboxpolicy.Policy{Mode: mode, Network: sandboxpolicy.On, Tools: sandboxpolicy.Off, Write: []string{"/dev/null"}})
}
