package pluginhost

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// describeRunning asks a running plugin for its description. Nothing is cached: the next process at this
// address may be another plugin.
func (c *caller) describeRunning(ctx context.Context, p catalog.Plugin) (sdk.Description, error) {
	a, err := c.launcher.Attach(ctx, p)
	if err != nil {
		return sdk.Description{}, err
	}
	defer a.Stop(ctx)
	return a.Client().Describe(ctx)
}

// invokeAttached makes an invocation on a component of a process that already runs, which is not checked,
// confined or ended.
func (c *caller) invokeAttached(ctx context.Context, e catalog.Entry, use Use, call invocation) error {
	if _, err := c.cfg.sandboxPolicy(e, e.Component, use); err != nil {
		return err
	}
	key := processKey{Path: e.Plugin.Path, Args: string(catalog.FromReattach), Dir: c.cfg.WorkDir}
	lease, err := c.pool.Acquire(ctx, key, func(ctx context.Context) (*instance, error) { return c.attach(ctx, e.Plugin) })
	if err != nil {
		return err
	}
	lease.Instance().addUser(&c.user, &c.user)
	return lease.End(ctx, call(ctx, lease.Instance().guard(e.Component)))
}

func (c *caller) attach(ctx context.Context, p catalog.Plugin) (*instance, error) {
	a, err := c.launcher.Attach(ctx, p)
	if err != nil {
		return nil, err
	}
	c.cfg.Logger.Warn("using a running plugin process: it is not verified, not confined and not ended",
		"plugin", catalog.Prefix+p.Name, "pid", a.PID(), "because", string(catalog.FromReattach)+" is set")
	return &instance{
		pluginProcess: a, environment: []string{},
		init:    sdk.InitRequest{WorkDir: c.cfg.WorkDir, RunMarker: c.marker.String()},
		guards:  map[string]*callGuard{},
		started: Notice{Event: Started, Command: a.Command(), PID: a.PID(), Environment: []string{}, Reattached: true},
	}, nil
}
