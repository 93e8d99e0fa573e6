package pluginhost

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/pluginhost/discovery"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/pluginhost/environ"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/pluginhost/gate"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/pluginhost/launch"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/pluginhost/pool"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/pluginhost/trust"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/sandbox"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// ErrCollateral is in the chain of the failure of a call whose process fell during another call.
// Making the call again uses up no try.
var ErrCollateral = pool.ErrCollateral

// ErrClosed is in the chain of what a closed Host answers.
var ErrClosed = pool.ErrClosed

// Host is safe for concurrent use.
type Host struct {
	cfg      Config
	marker   process.Marker
	verifier *trust.Verifier
	spawner  *process.Spawner
	launcher *launch.Launcher
	catalog  *catalog.Catalog
	pool     *pool.Pool[*instance]
	finding  discovery.Finding
	restore  func() // of the process-wide setting that adopts orphans

	sandbox *sandbox.Sandbox

	mu    sync.Mutex
	local []*gate.Gate
	told  map[string]bool // what was said once

	closing sync.Once
	closed  error
}

// New makes a Host. It looks through the plugin directories and reads the user's trust, and starts
// nothing. The caller closes it.
func New(cfg Config) (*Host, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := mayBundle(cfg.Bundled); err != nil {
		return nil, err
	}
	attached, err := discovery.ParseRunning(cfg.Reattach)
	if err != nil {
		return nil, err
	}
	store := trust.Store{Dir: cfg.ConfigDir}
	locks, err := readLocks(store, cfg.ProjectLock)
	if err != nil {
		return nil, err
	}
	restore, err := process.AdoptOrphans()
	if err != nil {
		return nil, err
	}
	verifier := trust.NewVerifier(locks...)
	h := &Host{
		cfg: cfg, restore: restore,
		marker:   process.NewMarker(cfg.RunMarker),
		verifier: verifier,
		spawner:  process.NewSpawner(),
		finding:  withRunning(find(cfg, store, verifier.Self()), attached),
		sandbox:  sandbox.New(cfg.SandboxHelper),
		told:     map[string]bool{},
	}
	h.launcher = launch.New(launch.Config{
		Spawner: h.spawner, Marker: h.marker, Logger: cfg.Logger, PluginLogger: cfg.PluginLogger, StartTimeout: cfg.StartTimeout,
		SocketBases: cfg.SocketBases, Redactor: cfg.Redactor, Client: cfg.Client, Sandbox: h.sandbox,
	})
	h.pool = pool.New(cfg.Idle, h.fell)
	c := catalog.Config{Finding: h.finding, Verifier: h.verifier, Cache: catalog.NewCache(cfg.cachePath()), Describe: h.describe, DescribeRunning: h.describeRunning}
	if cfg.Shared != nil {
		c.Shared = cfg.Shared.catalog
	}
	h.catalog = catalog.New(c)
	return h, nil
}

// Redact takes another redactor for the processes that are started from now on. Nothing may be under way.
func (h *Host) Redact(r *redact.Redactor) {
	h.cfg.Redactor = r
	h.launcher.Redact(r)
}

func readLocks(store trust.Store, project string) ([]trust.Lock, error) {
	user, err := store.Lock()
	if err != nil || project == "" {
		return []trust.Lock{user}, err
	}
	added, err := trust.ReadLock(project)
	return []trust.Lock{user, added}, err
}

func find(cfg Config, store trust.Store, program string) discovery.Finding {
	home := lookup(cfg.Environ, "HOME")
	return discovery.Search{
		Places: discovery.Places(discovery.Origin{
			Flags: cfg.PluginDirs, List: lookup(cfg.Environ, discovery.DirVariable),
			ConfigDir: cfg.ConfigDir, Executable: cfg.executable(),
		}),
		Project: cfg.WorkDir,
		Trusted: discovery.Trusts(store, cfg.WorkDir, home),
		Home:    home,
		Bundled: cfg.Bundled, BundledOff: cfg.BundledOff, Program: program,
	}.Find()
}

func lookup(env []string, name string) (value string) {
	for _, entry := range env {
		if n, v, _ := strings.Cut(entry, "="); n == name {
			value = v
		}
	}
	return value
}

// soon is how long a plugin may take to describe itself before the user is told what is waited for.
const soon = 3 * time.Second

// describe starts a plugin with the least that it needs, away from the project, and asks it. What nobody knows
// yet is confined as well as the system can, whatever it will say that it needs: it may read, and change nothing.
func (h *Host) describe(ctx context.Context, b *trust.Binary) (sdk.Description, error) {
	slow := time.AfterFunc(soon, func() { h.cfg.Logger.Warn("waiting for a plugin to say what it is", "plugin", b.Command()) })
	defer slow.Stop()
	i, err := h.launcher.Start(ctx, launch.Order{
		Binary: b, Env: environ.Build(h.cfg.Environ, environ.Policy{Mode: environ.Only}, nil), Dir: "/",
		Box: &sandbox.Box{Mode: sandbox.Workspace, Network: sandbox.Off, Best: true, WorkDir: "/"},
	})
	if err != nil {
		return sdk.Description{}, err
	}
	defer i.Stop(context.WithoutCancel(ctx))
	d, err := i.Client().Describe(ctx)
	if err != nil {
		return sdk.Description{}, i.Explain(ctx, err)
	}
	return d, nil
}

// RegisterProvider adds a provider of this process. It wins over plugins' providers of the same name;
// a name that another registered one has is an error.
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
	g := gate.New(component, target, sdk.InitRequest{WorkDir: h.cfg.WorkDir, RunMarker: h.marker.String()})
	if err := h.catalog.Register(component, g); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.local = append(h.local, g)
	return nil
}

// once says something the first time that it is to be said by this host or the one whose components it shares.
func (h *Host) once(what string, say func()) {
	first := h
	for first.cfg.Shared != nil {
		first = first.cfg.Shared
	}
	first.mu.Lock()
	told := first.told[what]
	first.told[what] = true
	first.mu.Unlock()
	if !told {
		say()
	}
}

// fell tells of a process that ended without being told to.
func (h *Host) fell(i *instance) {
	f := i.Crash()
	h.cfg.Logger.Warn("plugin process ended unexpectedly", "plugin", i.Command(), "pid", i.PID(), "error", f)
	h.cfg.Notify(Notice{
		Event: Crashed, Command: i.Command(), SHA256: i.sha256, PID: i.PID(), Environment: i.environment, Detail: f.Detail,
	})
}

// Sweep ends what kernels that died left running, see [process.Sweep]: all processes of this user
// marked with a run whose name begins with prefix.
func Sweep(ctx context.Context, prefix string, grace time.Duration) ([]process.Survivor, error) {
	return process.Sweep(ctx, prefix, grace)
}

// Limits says what this operating system cannot do for plugins; empty on Linux.
func Limits() []string { return process.Limits() }

// Close ends every plugin process and the components of this process, and waits for that until ctx
// ends; processes that are left then are killed. Calls in flight fail. Later calls return the same.
func (h *Host) Close(ctx context.Context) error {
	h.closing.Do(func() {
		h.closed = errors.Join(h.pool.Close(ctx), h.shutdownLocal(ctx))
		h.spawner.Close()
		h.restore()
	})
	return h.closed
}

// shutdownLocal asks the components of this process that were used to let go, newest first.
func (h *Host) shutdownLocal(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var faults []error
	for i := len(h.local) - 1; i >= 0; i-- {
		faults = append(faults, h.local[i].Shutdown(ctx))
	}
	return errors.Join(faults...)
}
