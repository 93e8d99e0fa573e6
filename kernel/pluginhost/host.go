package pluginhost

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Host finds plugins, runs their processes and calls their components. It is safe for concurrent use.
type Host struct {
	*caller
	search catalog.SearchResult

	mu    sync.Mutex // guards:
	local []*callGuard

	closing sync.Once
	closed  error
}

// New returns a Host. It searches the plugin directories and reads the user's trust, and starts nothing. The
// caller closes it.
//
// If shared is not nil, the Host also has the components registered with shared, including those registered later.
// They are set up once, their concurrency limit holds for all hosts together, and they end with shared. Processes of
// plugins that declare [sdk.CapabilityShared] are shared, too. The RunMarker of shared marks them, and they end with
// the last Host that used them. Both Hosts must have the same settings, except RunMarker and Notify.
func New(cfg Config, shared *Host) (*Host, error) {
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
	h := &Host{}
	c := catalog.Config{}
	if shared == nil {
		h.caller, err = newCaller(cfg, locks)
	} else {
		h.caller, c.Shared = shared.root.newDependent(cfg, locks), shared.catalog
	}
	if err != nil {
		return nil, err
	}
	h.search = addRunning(findPlugins(cfg, store, h.verifier.Self()), attached)
	c.Search, c.Verifier, c.Cache, c.Describe, c.DescribeRunning = h.search, h.verifier, h.cache, h.Describe, h.describeRunning
	h.catalog = catalog.New(c)
	return h, nil
}

// Redact sets the redactor for processes started later, and ends the sharing of processes. No call may be in flight.
func (h *Host) Redact(r *redact.Redactor) {
	h.user.disable() // the redactor does not cover output of shared processes
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
	home := cfg.variable("HOME")
	return catalog.Search{
		Dirs: catalog.SearchDirs(catalog.SearchOrigin{
			Flags: cfg.PluginDirs, List: cfg.variable(catalog.DirVariable),
			ConfigDir: cfg.ConfigDir, Executable: cfg.executable(),
		}),
		Project: cfg.WorkDir,
		Trusted: catalog.TrustFunc(store, cfg.WorkDir, home),
		Home:    home,
		Bundled: cfg.Bundled, BundledOff: cfg.BundledOff, Program: program,
	}.Find()
}

// Sweep ends the surviving processes of dead kernels, see [process.Table.Sweep]. They belong to this user and carry
// the mark of a run named with one of prefixes, or only the tag of one of kernels.
func (h *Host) Sweep(ctx context.Context, prefixes []string, grace time.Duration, kernels ...process.Marker) ([]process.Survivor, error) {
	return h.system.table.Sweep(ctx, prefixes, grace, kernels...)
}

// shutdownLocal shuts down the initialized components of this process, the last registered first.
func (h *Host) shutdownLocal(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var faults []error
	for i := len(h.local) - 1; i >= 0; i-- {
		faults = append(faults, h.local[i].Shutdown(ctx))
	}
	return errors.Join(faults...)
}

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

// Close ends every plugin process and the components of this process, and waits for that until ctx ends; remaining
// processes are then killed. Calls in flight fail. A process shared with other Hosts ends with the last Host. Later
// calls of Close return the same error.
func (h *Host) Close(ctx context.Context) error {
	h.closing.Do(func() {
		if h.root != h.caller {
			h.user.close(ctx, h.root.pool)
			h.closed = h.pool.Close(ctx)
		}
		h.closed = errors.Join(h.closed, h.shutdownLocal(ctx), h.root.release(ctx))
	})
	return h.closed
}
