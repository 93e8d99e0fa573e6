package pluginhost

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/launch"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Use configures a component's process. Different uses get different processes. The zero value means the
// component's defaults.
type Use struct {
	// Env narrows the component's environment.
	Env EnvPolicy
	// Names are variables that the component gets besides its default ones, because its configuration refers
	// to them ([ReferencedEnv]). Env narrows them, too.
	Names []string
	// Sandbox is the requested isolation; its paths are absolute and exist. Mode "" requests nothing; mode
	// none also disables the isolation that applies by default.
	Sandbox plan.Sandbox
}

// instance is a running plugin with the guards of its components.
type instance struct {
	pluginProcess
	sha256      string
	environment []string // names
	init        sdk.InitRequest
	started     Notice      // of its start
	users       sharedUsers // the Hosts that use it

	mu     sync.Mutex
	guards map[string]*callGuard // by kind and name
}

func (i *instance) guard(component sdk.Component) *callGuard {
	i.mu.Lock()
	defer i.mu.Unlock()
	id := string(component.Kind) + " " + component.Name
	g, ok := i.guards[id]
	if !ok {
		g = newCallGuard(component, proxy(i.Client(), component), i.init)
		i.guards[id] = g
	}
	return g
}

func proxy(c *client.Client, component sdk.Component) any {
	switch component.Kind {
	case sdk.KindTermination:
		return c.Termination(component)
	case sdk.KindHookAction:
		return c.HookAction(component)
	default:
		return c.Provider(component)
	}
}

// invokeRemote makes an invocation on a plugin's component. The binary is verified each time, at the cost of a
// stat while it is unchanged; a replaced binary is described and started again.
func (h *Host) invokeRemote(ctx context.Context, e catalog.Entry, use Use, p invocation) error {
	if e.Plugin.Running != nil {
		return h.invokeAttached(ctx, e, use, p)
	}
	b, err := e.Plugin.Open(h.verifier)
	if err != nil {
		return err
	}
	defer b.Close()
	d, component, err := h.currentComponent(ctx, e, b)
	if err != nil {
		return err
	}
	box, err := h.sandboxPolicy(e, component, use)
	if err != nil {
		return err
	}
	env, dir := h.environment(component, use), h.cfg.WorkDir
	key := processKey{
		Path: b.Path, Args: strings.Join(b.Args, "\x00"), SHA256: b.SHA256, Env: strings.Join(env, "\x00"), Dir: dir, Sandbox: policyKey(box),
	}
	owner := h.owner(component)
	if owner != h {
		var done func()
		if ctx, done, err = h.sharedCalls.begin(ctx); err != nil {
			return err
		}
		defer done()
	}
	lease, err := owner.pool.Acquire(ctx, key, func(ctx context.Context) (*instance, error) {
		h.logUngranted(e, component, box)
		return owner.start(ctx, launch.StartRequest{Binary: b, Env: env, Dir: dir, MTLS: d.MTLS, Box: box}, h)
	})
	if err != nil {
		return err
	}
	lease.Instance().addUser(h, owner)
	return lease.End(ctx, p(ctx, lease.Instance().guard(component)))
}

// owner returns the Host that runs the process of a component.
func (h *Host) owner(c sdk.Component) *Host {
	if !slices.Contains(c.Capabilities, sdk.CapabilityShared) || c.Concurrency == sdk.ConcurrencySerial || h.sharedCalls.isDisabled() {
		return h
	}
	return h.root()
}

// currentComponent returns the current description of the binary, and of the component in it.
func (h *Host) currentComponent(ctx context.Context, e catalog.Entry, b *catalog.Binary) (sdk.Description, sdk.Component, error) {
	d, err := h.catalog.Describe(ctx, e.Plugin, b)
	if err != nil {
		return d, sdk.Component{}, err
	}
	i := slices.IndexFunc(d.Components, func(c sdk.Component) bool {
		return c.Kind == e.Component.Kind && c.Name == e.Component.Name
	})
	if i < 0 {
		return d, sdk.Component{}, failure.New(failure.PluginInvalid,
			"plugin %s was replaced and no longer serves %s %q", e.Plugin.Command(), e.Component.Kind, e.Component.Name).
			WithHint("`%s` shows what it serves", failure.Next("plugins", "info", e.Plugin.Name))
	}
	return d, d.Components[i], nil
}

func (h *Host) environment(component sdk.Component, use Use) []string {
	policy := DefaultEnv(component.Kind, component.Name).WithNames(use.Names).Narrow(use.Env)
	return BuildEnv(h.cfg.Environ, policy, map[string]string{client.LogLevelVariable: h.cfg.PluginLogger.GetLevel().String()})
}

// start starts a plugin for user, which may be h itself.
func (h *Host) start(ctx context.Context, o launch.StartRequest, user *Host) (*instance, error) {
	made := &instance{sha256: o.Binary.SHA256, guards: map[string]*callGuard{}}
	o.OnLeak = func(left []process.Survivor) {
		for _, s := range left {
			h.cfg.Logger.Warn("ended a process that a plugin left behind", "pid", s.PID, "command", s.Command, "ended", s.Ended)
			made.users.notify(Notice{Event: SurvivorEnded, Survivor: s})
		}
	}
	i, err := h.launch(ctx, o)
	if err != nil {
		return nil, err
	}
	names := EnvNames(o.Env)
	got := i.Sandbox()
	h.cfg.Logger.Debug("plugin process started", "plugin", i.Command(), "pid", i.PID(), "mtls", o.MTLS, "sandbox", got.Mode)
	n := Notice{Event: Started, Command: i.Command(), SHA256: o.Binary.SHA256, PID: i.PID(), Environment: names}
	init := sdk.InitRequest{WorkDir: o.Dir, RunMarker: h.marker.String()}
	if o.Box != nil {
		n.Requested, n.Sandbox = o.Box, &got
		h.logLacking(got)
	}
	if got.Mode != sandboxpolicy.None {
		init.Sandbox = string(got.Mode)
	}
	made.pluginProcess, made.environment, made.init, made.started = i, names, init, n
	made.addUser(user, h)
	return made, nil
}

// launch starts a plugin within the limit of concurrent starts.
func (h *Host) launch(ctx context.Context, o launch.StartRequest) (*launch.Instance, error) {
	done, err := h.system.acquireStart(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return h.launcher.Start(ctx, o)
}
