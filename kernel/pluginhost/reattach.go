package pluginhost

import (
	"context"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/launch"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// describeRunning asks a running plugin for its description. Nothing is cached: the next process at this
// address may be another one.
func (h *Host) describeRunning(ctx context.Context, c catalog.Plugin) (sdk.Description, error) {
	a, err := h.launcher.Attach(ctx, c)
	if err != nil {
		return sdk.Description{}, err
	}
	defer a.Stop(ctx)
	return a.Client().Describe(ctx)
}

// invokeAttached makes an invocation on a component of a process that already runs, which is not checked,
// confined or ended.
func (h *Host) invokeAttached(ctx context.Context, e catalog.Entry, use Use, p invocation) error {
	if _, err := h.sandboxPolicy(e, e.Component, use); err != nil {
		return err
	}
	key := processKey{Path: e.Plugin.Path, Args: string(catalog.FromReattach), Dir: h.cfg.WorkDir}
	lease, err := h.pool.Acquire(ctx, key, func(ctx context.Context) (*instance, error) { return h.attach(ctx, e.Plugin) })
	if err != nil {
		return err
	}
	lease.Instance().addUser(h, h)
	return lease.End(ctx, p(ctx, lease.Instance().guard(e.Component)))
}

func (h *Host) attach(ctx context.Context, c catalog.Plugin) (*instance, error) {
	a, err := h.launcher.Attach(ctx, c)
	if err != nil {
		return nil, err
	}
	h.cfg.Logger.Warn("using a running plugin process: it is not verified, not confined and not ended",
		"plugin", catalog.Prefix+c.Name, "pid", a.PID(), "because", string(catalog.FromReattach)+" is set")
	return &instance{
		pluginProcess: a, environment: []string{},
		init:    sdk.InitRequest{WorkDir: h.cfg.WorkDir, RunMarker: h.marker.String()},
		guards:  map[string]*callGuard{},
		started: Notice{Event: Started, Command: a.Command(), PID: a.PID(), Environment: []string{}, Reattached: true},
	}, nil
}

// confineRunningError is the error of a required isolation for a process that already runs.
func confineRunningError(c catalog.Plugin) error {
	return failure.New(failure.SandboxUnavailable, "plugin %s runs already (%s) and cannot be confined, as is asked for", c.Name, catalog.FromReattach).
		WithHint("ask for no sandbox while you debug it, or unset %s", catalog.FromReattach)
}

// pluginProcess is a plugin process started by this program or another one.
type pluginProcess interface {
	pooledInstance
	Client() *client.Client
	Command() string
	PID() int
}

var _ = []pluginProcess{(*launch.Instance)(nil), (*launch.AttachedInstance)(nil)}

// addRunning puts running plugins before the plugins found.
func addRunning(f catalog.SearchResult, attached []catalog.Plugin) catalog.SearchResult {
	for _, a := range attached {
		f.Plugins = slices.DeleteFunc(f.Plugins, func(c catalog.Plugin) bool {
			if c.Name != a.Name {
				return false
			}
			f.Ignored = append(f.Ignored, catalog.Ignored{Path: c.Command(), Reason: "shadowed by the running process that " + string(catalog.FromReattach) + " names"})
			return true
		})
	}
	f.Plugins = slices.Concat(attached, f.Plugins)
	return f
}
