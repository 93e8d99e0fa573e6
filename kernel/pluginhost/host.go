package pluginhost

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/launch"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Host finds plugins, runs their processes and calls their components. It is safe for concurrent use.
type Host struct {
	cfg         Config
	marker      process.Marker
	system      *system
	verifier    *catalog.Verifier
	cache       *catalog.Cache
	launcher    *launch.Launcher
	catalog     *catalog.Catalog
	pool        *processPool[*instance]
	search      catalog.SearchResult
	sandbox     sandboxpolicy.Confiner
	sharedCalls callTracker // calls on processes of the root Host

	mu     sync.Mutex // guards:
	local  []*callGuard
	logged map[string]bool // messages that are logged once
	users  int             // open Hosts that share this one, including itself

	closing sync.Once
	closed  error
}

// New returns a Host. It searches the plugin directories and reads the user's trust, and starts nothing. The
// caller closes it.
func New(cfg Config) (*Host, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := checkBundled(cfg.Bundled); err != nil {
		return nil, err
	}
	attached, err := catalog.ParseRunning(cfg.Reattach)
	if err != nil {
		return nil, err
	}
	store := catalog.Store{Dir: cfg.ConfigDir}
	locks, err := readLocks(store, cfg.ProjectLock)
	if err != nil {
		return nil, err
	}
	h := &Host{cfg: cfg, marker: process.NewMarker(cfg.RunMarker), logged: map[string]bool{}}
	if err := h.initShared(locks); err != nil {
		return nil, err
	}
	h.search = addRunning(findPlugins(cfg, store, h.verifier.Self()), attached)
	h.launcher = launch.New(launch.Config{
		Spawner: h.system.spawner, Table: h.system.table, Marker: h.marker, Logger: cfg.Logger, PluginLogger: cfg.PluginLogger, StartTimeout: cfg.StartTimeout,
		SocketBases: cfg.SocketBases, Redactor: cfg.Redactor, Client: cfg.Client, Sandbox: h.sandbox,
	})
	h.pool = newProcessPool(cfg.IdleTimeout, h.reportCrash)
	c := catalog.Config{Search: h.search, Verifier: h.verifier, Cache: h.cache, Describe: h.Describe, DescribeRunning: h.describeRunning}
	if cfg.Shared != nil {
		c.Shared = cfg.Shared.catalog
	}
	h.catalog = catalog.New(c)
	return h, nil
}

// initShared creates the host's shared parts, or borrows them from its root Host.
func (h *Host) initShared(locks []catalog.Lock) error {
	first := h.root()
	if first == h {
		var err error
		if h.system, err = newSystem(); err != nil {
			return err
		}
		h.verifier, h.cache, h.sandbox = catalog.NewVerifier(locks...), catalog.NewCache(h.cfg.cachePath()), cmp.Or[sandboxpolicy.Confiner](h.cfg.Confiner, sandboxpolicy.Unavailable{})
	} else {
		h.system, h.cache, h.sandbox = first.system, first.cache, first.sandbox
		h.verifier = first.verifier.WithLocks(locks...)
	}
	first.mu.Lock()
	defer first.mu.Unlock()
	first.users++
	return nil
}

// root returns the Host at the end of the chain of Shared, or h itself.
func (h *Host) root() *Host {
	for h.cfg.Shared != nil {
		h = h.cfg.Shared
	}
	return h
}

// Redact sets the redactor for processes started later. No call may be in flight.
func (h *Host) Redact(r *redact.Redactor) {
	h.sharedCalls.disable() // what others' processes say is not cleaned by it
	h.cfg.Redactor = r
	h.launcher.Redact(r)
}

func readLocks(store catalog.Store, project string) ([]catalog.Lock, error) {
	user, err := store.Lock()
	if err != nil || project == "" {
		return []catalog.Lock{user}, err
	}
	added, err := catalog.ReadLock(project)
	return []catalog.Lock{user, added}, err
}

func findPlugins(cfg Config, store catalog.Store, program string) catalog.SearchResult {
	home := lookupEnv(cfg.Environ, "HOME")
	return catalog.Search{
		Dirs: catalog.SearchDirs(catalog.SearchOrigin{
			Flags: cfg.PluginDirs, List: lookupEnv(cfg.Environ, catalog.DirVariable),
			ConfigDir: cfg.ConfigDir, Executable: cfg.executable(),
		}),
		Project: cfg.WorkDir,
		Trusted: catalog.TrustFunc(store, cfg.WorkDir, home),
		Home:    home,
		Bundled: cfg.Bundled, BundledOff: cfg.BundledOff, Program: program,
	}.Find()
}

func lookupEnv(env []string, name string) (value string) {
	for _, entry := range env {
		if n, v, _ := strings.Cut(entry, "="); n == name {
			value = v
		}
	}
	return value
}

// slowDescribe is the time of a description after which the wait is logged.
const slowDescribe = 3 * time.Second

// Describe starts a plugin with a minimal environment outside the project and asks for its description. An
// unknown plugin is confined as well as the system can, regardless of its needs: it may read and change
// nothing.
func (h *Host) Describe(ctx context.Context, b *catalog.Binary) (sdk.Description, error) {
	slow := time.AfterFunc(slowDescribe, func() { h.cfg.Logger.Warn("waiting for a plugin's description", "plugin", b.Command()) })
	defer slow.Stop()
	i, err := h.launch(ctx, launch.StartRequest{
		Binary: b, Env: BuildEnv(h.cfg.Environ, EnvPolicy{Mode: EnvMinimal}, nil), Dir: "/",
		Box: &sandboxpolicy.Policy{Mode: sandboxpolicy.Workspace, Network: sandboxpolicy.Off, BestEffort: true, WorkDir: "/"},
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

// RegisterProvider adds a provider of this process. It takes precedence over plugins' providers of the same
// name; the name of another registered one is an error.
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

// logOnce calls log for the first report of a key by this host or the root that it shares.
func (h *Host) logOnce(key string, say func()) {
	first := h.root()
	first.mu.Lock()
	logged := first.logged[key]
	first.logged[key] = true
	first.mu.Unlock()
	if !logged {
		say()
	}
}

// reportCrash reports a process that ended unexpectedly.
func (h *Host) reportCrash(i *instance) {
	f := i.Crash()
	h.cfg.Logger.Warn("plugin process ended unexpectedly", "plugin", i.Command(), "pid", i.PID(), "error", f)
	i.users.notify(Notice{
		Event: Crashed, Command: i.Command(), SHA256: i.sha256, PID: i.PID(), Environment: i.environment, Detail: f.Detail,
	})
}

// Sweep ends the surviving processes of dead kernels, see [process.Table.Sweep]: processes of this user marked
// with a run whose name begins with one of prefixes, and those that only the tag of one of kernels identifies.
func (h *Host) Sweep(ctx context.Context, prefixes []string, grace time.Duration, kernels ...process.Marker) ([]process.Survivor, error) {
	return h.system.table.Sweep(ctx, prefixes, grace, kernels...)
}

// Close ends every plugin process and the components of this process, and waits for that until ctx ends;
// remaining processes are then killed. Calls in flight fail. A process shared with other Hosts ends with the
// last of them. Later calls return the same.
func (h *Host) Close(ctx context.Context) error {
	h.closing.Do(func() {
		first := h.root()
		if first != h {
			h.sharedCalls.close(ctx, h, first.pool)
			h.closed = h.pool.Close(ctx)
		}
		h.closed = errors.Join(h.closed, h.shutdownLocal(ctx), first.release(ctx))
	})
	return h.closed
}

// release is called when this Host, or one that shares it, is closed; the last one closes the pool and the
// system.
func (h *Host) release(ctx context.Context) error {
	h.mu.Lock()
	h.users--
	last := h.users == 0
	h.mu.Unlock()
	if !last {
		return nil
	}
	err := h.pool.Close(ctx)
	h.system.close()
	return err
}

// shutdownLocal shuts down the used components of this process, newest first.
func (h *Host) shutdownLocal(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var faults []error
	for i := len(h.local) - 1; i >= 0; i-- {
		faults = append(faults, h.local[i].Shutdown(ctx))
	}
	return errors.Join(faults...)
}
