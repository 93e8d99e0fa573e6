package pluginhost

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/launch"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// caller starts plugin processes and makes calls on their components. It is safe for concurrent use.
type caller struct {
	cfg      Config
	marker   process.Marker
	system   *system
	verifier *catalog.Verifier
	cache    *catalog.Cache
	launcher *launch.Launcher
	catalog  *catalog.Catalog
	pool     *processPool[*instance]
	sandbox  sandboxpolicy.Confiner
	user     processUser
	root     *caller // runs shared processes; the caller itself if its Host shares no other Host

	mu     sync.Mutex      // guards:
	logged map[string]bool // keys of messages already logged
	users  int             // open Hosts with this root
}

// newCaller returns a root: a caller that depends on no other caller. Its catalog is set later.
func newCaller(cfg Config, locks []catalog.Lock) (*caller, error) {
	system, err := newSystem()
	if err != nil {
		return nil, err
	}
	cache := catalog.NewCache(cfg.cachePath())
	c := &caller{
		cfg: cfg, system: system, verifier: catalog.NewVerifier(cache, locks...), cache: cache,
		sandbox: cmp.Or[sandboxpolicy.Confiner](cfg.Confiner, sandboxpolicy.Unavailable{}), logged: map[string]bool{},
	}
	c.init(c)
	return c, nil
}

// newDependent returns a caller that uses the shared parts of the root c. Its catalog is set later.
func (c *caller) newDependent(cfg Config, locks []catalog.Lock) *caller {
	d := &caller{cfg: cfg, system: c.system, verifier: c.verifier.WithLocks(locks...), cache: c.cache, sandbox: c.sandbox}
	d.init(c)
	return d
}

// init makes the unshared parts of the caller and registers a user of root.
func (c *caller) init(root *caller) {
	cfg := c.cfg
	c.root, c.user.notify, c.marker = root, cfg.Notify, process.NewMarker(cfg.RunMarker)
	c.launcher = launch.New(launch.Config{
		Spawner: c.system.spawner, Table: c.system.table, Marker: c.marker, Logger: cfg.Logger, PluginLogger: cfg.PluginLogger, StartTimeout: cfg.StartTimeout,
		SocketBases: cfg.SocketBases, Redactor: cfg.Redactor, Client: cfg.Client, Sandbox: c.sandbox,
	})
	c.pool = newProcessPool(cfg.IdleTimeout, c.reportCrash)
	root.mu.Lock()
	defer root.mu.Unlock()
	root.users++
}

// invoke makes an invocation on a plugin's component. The binary is verified each time; on Linux an unchanged binary is
// not read again. A replaced binary is described and started again.
func (c *caller) invoke(ctx context.Context, e catalog.Entry, use Use, p invocation) error {
	if e.Plugin.Running != nil {
		return c.invokeAttached(ctx, e, use, p)
	}
	b, err := e.Plugin.Open(c.verifier)
	if err != nil {
		return err
	}
	defer b.Close()
	d, component, err := c.currentComponent(ctx, e, b)
	if err != nil {
		return err
	}
	policy, err := c.cfg.sandboxPolicy(e, component, use)
	if err != nil {
		return err
	}
	env, dir := c.environment(e, component, use), c.cfg.WorkDir
	key := processKey{
		Path: b.Path, Args: strings.Join(b.Args, "\x00"), SHA256: b.SHA256, Env: strings.Join(env, "\x00"), Dir: dir, Sandbox: policyKey(policy),
	}
	c.logHidden(e)
	owner := c.owner(component)
	if owner != c {
		var done func()
		if ctx, done, err = c.user.begin(ctx); err != nil {
			return err
		}
		defer done()
	}
	lease, err := owner.pool.Acquire(ctx, key, func(ctx context.Context) (*instance, error) {
		c.logUngranted(e, component, policy)
		return owner.start(ctx, launch.StartRequest{Binary: b, Env: env, Dir: dir, MTLS: d.MTLS, Policy: policy}, &c.user)
	})
	if err != nil {
		return err
	}
	lease.Instance().addUser(&c.user, &owner.user)
	return lease.End(ctx, p(ctx, lease.Instance().guard(component)))
}

// owner returns the caller that runs the process of a component.
func (c *caller) owner(component sdk.Component) *caller {
	if !slices.Contains(component.Capabilities, sdk.CapabilityShared) || component.Concurrency == sdk.ConcurrencySerial || c.user.isDisabled() {
		return c
	}
	return c.root
}

// currentComponent returns the current descriptions of the binary and of the entry's component.
func (c *caller) currentComponent(ctx context.Context, e catalog.Entry, b *catalog.Binary) (sdk.Description, sdk.Component, error) {
	d, err := c.catalog.Describe(ctx, e.Plugin, b)
	if err != nil {
		return d, sdk.Component{}, err
	}
	i := slices.IndexFunc(d.Components, func(c sdk.Component) bool {
		return c.Kind == e.Component.Kind && c.Name == e.Component.Name
	})
	if i < 0 {
		return d, sdk.Component{}, failure.New(failure.PluginInvalid,
			"plugin %s was replaced and no longer serves %s %q", e.Plugin.Command(), e.Component.Kind, e.Component.Name).
			WithHint("`%s` shows its components", failure.Next("plugins", "info", e.Plugin.Name))
	}
	return d, d.Components[i], nil
}

func (c *caller) environment(e catalog.Entry, component sdk.Component, use Use) []string {
	full := DefaultEnv(component, comesWithProgram(e)).WithNames(use.Names)
	policy, user := full.Narrow(use.Env), c.cfg.Environ
	if names := (EnvPolicy{Mode: policy.Mode}).withheld(c.cfg.Environ); len(names) > 0 {
		c.logOnce("withheld", func() {
			c.cfg.Logger.Warn("withheld variables that look secret from components that do not need or name them", "names", strings.Join(names, ", "),
				"remedy", "in a project that you trust, name one as ${NAME} in the command or in the hook's configuration, or in policy.env; or name it in providers.<name>.env of your config.yaml")
		})
	}
	if !use.Env.Adds { // a variable that is secret by its value has a name that Narrow accepts
		user = BuildEnv(user, full, nil)
	}
	return BuildEnv(user, policy, map[string]string{client.LogLevelVariable: c.cfg.PluginLogger.GetLevel().String()})
}

// start starts a plugin process for a user, which may be the caller's own.
func (c *caller) start(ctx context.Context, o launch.StartRequest, user *processUser) (*instance, error) {
	made := &instance{sha256: o.Binary.SHA256, guards: map[string]*callGuard{}}
	o.OnLeak = func(left []process.Survivor) {
		for _, s := range left {
			c.cfg.Logger.Warn("found a process that a plugin left behind", "pid", s.PID, "command", s.Command, "ended", s.Ended)
			made.users.notify(Notice{Event: SurvivorEnded, Survivor: s})
		}
	}
	i, err := c.launch(ctx, o)
	if err != nil {
		return nil, err
	}
	names := EnvNames(o.Env)
	got := i.Sandbox()
	c.cfg.Logger.Debug("plugin process started", "plugin", i.Command(), "pid", i.PID(), "mtls", o.MTLS, "sandbox", got.Mode)
	n := Notice{Event: Started, Command: i.Command(), SHA256: o.Binary.SHA256, PID: i.PID(), Environment: names}
	init := sdk.InitRequest{WorkDir: o.Dir, RunMarker: c.marker.String()}
	if o.Policy != nil {
		n.Requested, n.Sandbox = o.Policy, &got
		c.logLacking(got)
	}
	if got.Mode != sandboxpolicy.None {
		init.Sandbox = string(got.Mode)
	}
	made.pluginProcess, made.environment, made.init, made.started = i, names, init, n
	made.addUser(user, &c.user)
	return made, nil
}

// launch starts a plugin within the limit of concurrent starts.
func (c *caller) launch(ctx context.Context, o launch.StartRequest) (*launch.Instance, error) {
	done, err := c.system.acquireStart(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return c.launcher.Start(ctx, o)
}

// logUngranted logs once the paths that a confined component requested and did not get.
func (c *caller) logUngranted(e catalog.Entry, component sdk.Component, b *sandboxpolicy.Policy) {
	missing := c.cfg.ungrantedPaths(e, component, b)
	if len(missing) == 0 {
		return
	}
	c.logOnce("needs "+component.Name, func() {
		c.cfg.Logger.Warn("confined plugin requests paths that are not granted", "component", component.Name, "plugin", e.Plugin.Name,
			"paths", strings.Join(missing, ", "), "remedy", "list the ones to grant under sandbox.read or sandbox.write in your config.yaml")
	})
}

// logHidden logs once that a component is used in place of others of the same name.
func (c *caller) logHidden(e catalog.Entry) {
	if len(e.Hides) == 0 {
		return
	}
	kind := strings.ReplaceAll(string(e.Component.Kind), "_", " ")
	c.logOnce("hides "+kind+" "+e.Component.Name, func() {
		c.cfg.Logger.Warn("several plugins serve the same "+kind, "name", e.Component.Name, "used", e.Plugin.Command(), "hidden", strings.Join(e.Hides, ", "),
			"remedy", failure.Next("plugins", "remove", e.Plugin.Name).Command("")+", if you did not intend this")
	})
}

// logLacking logs once the sandbox capabilities that the system lacks.
func (c *caller) logLacking(got sandboxpolicy.Capabilities) {
	lacks := strings.Join(got.Missing, "; ")
	if lacks == "" {
		return
	}
	c.logOnce("lacks "+lacks, func() {
		c.cfg.Logger.Warn("this system lacks parts of a sandbox", "mode", got.Mode, "lacks", lacks)
	})
}

// slowDescribe is the time of a description after which the wait is logged.
const slowDescribe = 3 * time.Second

// Describe starts a plugin with a minimal environment outside the project and asks for its description. A plugin
// without a description is confined as far as the system can, regardless of its needs. It has no network and may
// change nothing but its own socket and temporary files.
func (c *caller) Describe(ctx context.Context, b *catalog.Binary) (sdk.Description, error) {
	slow := time.AfterFunc(slowDescribe, func() { c.cfg.Logger.Warn("waiting for a plugin's description", "plugin", b.Command()) })
	defer slow.Stop()
	i, err := c.launch(ctx, launch.StartRequest{
		Binary: b, Env: BuildEnv(c.cfg.Environ, EnvPolicy{Mode: EnvMinimal}, nil), Dir: "/",
		Policy: &sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off, BestEffort: true, WorkDir: "/"},
	})
	if err != nil {
		return sdk.Description{}, err
	}
	defer i.Stop(context.WithoutCancel(ctx))
	d, err := i.Client().Describe(ctx)
	if err != nil {
		return sdk.Description{}, i.CallError(ctx, err)
	}
	return d, nil
}

// logOnce calls say for the first report of a key by the callers of one root.
func (c *caller) logOnce(key string, say func()) {
	c.root.mu.Lock()
	logged := c.root.logged[key]
	c.root.logged[key] = true
	c.root.mu.Unlock()
	if !logged {
		say()
	}
}

// reportCrash reports a process that ended unexpectedly.
func (c *caller) reportCrash(i *instance) {
	f := i.Crash()
	c.cfg.Logger.Warn("plugin process ended unexpectedly", "plugin", i.Command(), "pid", i.PID(), "error", f)
	i.users.notify(Notice{
		Event: Crashed, Command: i.Command(), SHA256: i.sha256, PID: i.PID(), Environment: i.environment, Detail: f.Detail,
	})
}

// release is called when the Host of this root, or a Host that shares it, is closed. The last call closes the pool and
// the system.
func (c *caller) release(ctx context.Context) error {
	c.mu.Lock()
	c.users--
	last := c.users == 0
	c.mu.Unlock()
	if !last {
		return nil
	}
	err := c.pool.Close(ctx)
	c.system.close()
	return err
}
