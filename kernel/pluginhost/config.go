package pluginhost

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Config configures a Host. Every zero value has a default.
type Config struct {
	// PluginDirs are the directories of --plugin-dir, searched first.
	PluginDirs []string
	// ConfigDir is the user's configuration directory. Default: [catalog.ConfigDir].
	ConfigDir string
	// CacheDir is the directory of cached descriptions. Default: agent-pipelines in os.UserCacheDir; "-"
	// caches nothing.
	CacheDir string
	// Executable is the running program, beside which plugins are searched. Default: os.Executable; "-" disables that
	// search.
	Executable string
	// Bundled are plugins that this program serves when it is started with their arguments. They come last in
	// the search. Default: none.
	Bundled []Bundled
	// BundledOff disables the bundled plugins and completes the sentence "turned off by ...". Default: they are
	// enabled.
	BundledOff string
	// Reattach is the value of [client.ReattachVariable]: running plugin processes that are used as they are.
	// It must come from the user. Default: none.
	Reattach string
	// ProjectLock is a lock file of the project, which may only add to the user's lock. Default: none.
	ProjectLock string
	// WorkDir is the project, absolute. Plugins work in it, and plugin directories in it are refused. Default:
	// the current directory.
	WorkDir string
	// RunMarker names the run in the environment of all its processes. It should begin with the prefix given
	// to [Host.Sweep], such as the session's directory. Default: the empty name.
	RunMarker string
	// Environ is the user's environment. Default: os.Environ.
	Environ []string
	// Logger is the Host's own log. Default: none.
	Logger hclog.Logger
	// PluginLogger gets the plugins' stderr under the plugins' names, without secrets; its level is passed to
	// the plugins ([client.LogLevelVariable]). Default: Logger.
	PluginLogger hclog.Logger
	// Redactor removes the secrets from plugins' logs and failures. Default: a redactor of the secrets in Environ.
	Redactor *redact.Redactor
	// Notify is called when plugin processes start, crash and leave survivors, from any goroutine; it must not
	// call the Host.
	Notify func(Notice)
	// StartTimeout bounds the time from a plugin's start to its first answer. Default 10 s.
	StartTimeout time.Duration
	// IdleTimeout is how long a process without calls is kept. Default 60 s.
	IdleTimeout time.Duration
	// Client are options of the protocol's client, such as client.IdleLimit.
	Client []client.Option
	// Confiner confines plugin processes. Default: [sandboxpolicy.Unavailable].
	Confiner sandboxpolicy.Confiner
	// SocketBases are the directories in which sockets are made. Default: see launch.Config.
	SocketBases []string
}

// Event is the kind of a notice about a plugin process.
type Event string

// The events of processes. A requested end has no event, except for its survivors.
const (
	Started       Event = "plugin_started"
	Crashed       Event = "plugin_crashed"
	SurvivorEnded Event = "survivor_ended"
)

// Notice describes an event of a plugin process.
type Notice struct {
	Event Event
	// Command is the command line of the process: the binary's path, and the arguments of a bundled plugin.
	Command string
	// SHA256 is the binary's digest, PID the process's id.
	SHA256 string
	PID    int
	// Environment are the names of all variables of the process, never the values.
	Environment []string
	// Detail is the end of the stderr of a crashed process.
	Detail string
	// Shared is true if the process already ran for another Host, see [New].
	Shared bool
	// Reattached is true if the process already ran and its owner ends it.
	Reattached bool
	// Survivor is the surviving process, for [SurvivorEnded]; only Event is set as well.
	Survivor process.Survivor
	// Requested is the requested isolation of the process, Sandbox the effective one; nil if none was requested.
	Requested *sandboxpolicy.Policy
	Sandbox   *sandboxpolicy.Capabilities
}

// disabledDir is the value that disables a directory, because "" means the default.
const disabledDir = "-"

func (cfg Config) withDefaults() (Config, error) {
	var err error
	if cfg.ConfigDir == "" {
		if cfg.ConfigDir, err = catalog.ConfigDir(); err != nil {
			return cfg, err
		}
	}
	if cfg.CacheDir == "" {
		cfg.CacheDir = disabledDir
		if dir, err := catalog.CacheDir(); err == nil {
			cfg.CacheDir = dir
		}
	}
	if cfg.Executable == "" {
		cfg.Executable = disabledDir
		if exe, err := os.Executable(); err == nil {
			cfg.Executable = exe
		}
	}
	if cfg.WorkDir == "" {
		if cfg.WorkDir, err = os.Getwd(); err != nil {
			return cfg, err
		}
	}
	if cfg.Environ == nil {
		cfg.Environ = os.Environ()
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	if cfg.Redactor == nil {
		cfg.Redactor = redact.New(cfg.Environ)
	}
	if cfg.PluginLogger == nil {
		cfg.PluginLogger = cfg.Logger
	}
	if cfg.Notify == nil {
		cfg.Notify = func(Notice) {}
	}
	return cfg, nil
}

// cachePath returns the cache file, "" if nothing is cached.
func (cfg *Config) cachePath() string {
	if cfg.CacheDir == disabledDir {
		return ""
	}
	return filepath.Join(cfg.CacheDir, "describe.json")
}

func (cfg *Config) executable() string {
	if cfg.Executable == disabledDir {
		return ""
	}
	return cfg.Executable
}

// variable returns the value of a variable in Environ, "" if there is none.
func (cfg *Config) variable(name string) (value string) {
	for _, entry := range cfg.Environ {
		if n, v, _ := strings.Cut(entry, "="); n == name {
			value = v
		}
	}
	return value
}

// Bundled is a plugin served by the running program, see [catalog.Bundled].
type Bundled = catalog.Bundled

// FromBundle is the source of a bundled plugin in a [Listing].
const FromBundle = catalog.FromBundle

// checkBundled refuses an invalid list. It also refuses a process that was started to serve a bundled plugin, because
// that process would start itself again without end.
func checkBundled(bundled []Bundled) error {
	if err := catalog.CheckBundled(bundled); err != nil {
		return failure.New(failure.ConfigInvalid, "%w", err).WithHint("repair the list of bundled plugins in the program")
	}
	cookie := client.Handshake()
	if os.Getenv(cookie.MagicCookieKey) != cookie.MagicCookieValue || len(os.Args) == 0 {
		return nil
	}
	for _, b := range bundled {
		if args := os.Args[1:]; len(args) >= len(b.Args) && slices.Equal(args[:len(b.Args)], b.Args) {
			return failure.New(failure.ConfigInvalid, "this process was started to serve plugin %s and hosts plugins instead", b.Name).
				WithHint("a program with bundled plugins must check its arguments first, and call serve.Run if they are those of a plugin")
		}
	}
	return nil
}
