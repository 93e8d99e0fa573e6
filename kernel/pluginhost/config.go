package pluginhost

import (
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/catalog"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Config is what a Host needs. Every zero value has a default.
type Config struct {
	// PluginDirs are the user's own words on the command line (--plugin-dir), searched first.
	PluginDirs []string
	// ConfigDir is the user's configuration directory. Default: [catalog.ConfigDir].
	ConfigDir string
	// CacheDir is where descriptions are remembered. Default: agent-pipelines in os.UserCacheDir; "-"
	// remembers nothing.
	CacheDir string
	// Executable is the running program, beside which plugins are looked for. Default: os.Executable;
	// "-" looks nowhere.
	Executable string
	// Bundled are plugins that this very program serves when it is started with their arguments. They
	// come last in the search. Default: none.
	Bundled []Bundled
	// BundledOff turns them off and completes the sentence "turned off by ...". Default: they are on.
	BundledOff string
	// Shared is a Host whose registered components are this one's too, those that are registered later
	// included: they are set up once, take turns over all hosts, and end with it. So are the processes of plugins that
	// declare [sdk.CapabilityShared]: its RunMarker names them, and they end with the last Host that used them. It has been
	// made with the same settings, but for RunMarker and Notify. What it started ends when it and all Hosts that share it
	// are closed. Default: none.
	Shared *Host
	// Reattach is the value of [client.ReattachVariable]: plugin processes that run already and are used as they
	// are. It is for the user's own word. Default: none.
	Reattach string
	// ProjectLock is a lock file of the project, which may only add to the user's. Default: none.
	ProjectLock string
	// WorkDir is the project, absolute. Plugins work in it, and bring-your-own plugin directories in it
	// are refused. Default: the current directory.
	WorkDir string
	// RunMarker names the run in the environment of all its processes. Let it begin with what [Sweep]
	// will look for, the session's directory say. Default: the empty name.
	RunMarker string
	// Environ is the user's environment. Default: os.Environ.
	Environ []string
	// Logger is for what the Host itself has to say. Default: none.
	Logger hclog.Logger
	// PluginLogger gets the plugins' stderr under the plugins' names, without secrets; its level is handed to
	// the plugins ([client.LogLevelVariable]). Default: Logger.
	PluginLogger hclog.Logger
	// Redactor takes the secrets out of what plugins log and of their failures. Default: one that knows those of
	// Environ.
	Redactor *redact.Redactor
	// Notify is told when plugin processes start, fall and leave others behind, from any goroutine; it must not call the Host.
	Notify func(Notice)
	// StartTimeout bounds a plugin's handshake. Default 10 s.
	StartTimeout time.Duration
	// Idle is how long a process without calls is kept. Default 60 s.
	Idle time.Duration
	// Client are limits of the protocol's client, such as client.IdleLimit.
	Client []client.Option
	// Confiner confines plugin processes. Default: [sandboxpolicy.Unavailable].
	Confiner sandboxpolicy.Confiner
	// SocketBases are the directories below which sockets are made. Default: see launch.Config.
	SocketBases []string
}

// Event says what happened to a plugin process.
type Event string

// The events of processes. One that ends because it was told to makes none, but for what it left behind.
const (
	Started Event = "plugin_started"
	Crashed Event = "plugin_crashed"
	Left    Event = "survivor_ended"
)

// Notice tells of a plugin process.
type Notice struct {
	Event Event
	// Command is how the process was started: the binary's path, and the arguments of a bundled plugin.
	Command string
	// SHA256 is the binary's digest, PID the process's id.
	SHA256 string
	PID    int
	// Environment are the names of all variables that the process was given; values are never told.
	Environment []string
	// Detail are the last words of a process that fell.
	Detail string
	// Shared: the process ran already for another Host, see [Config].Shared.
	Shared bool
	// Reattached: the process ran already, and whoever started it ends it.
	Reattached bool
	// Survivor is the process that was left, for [Left], which says nothing else.
	Survivor process.Survivor
	// Asked is the isolation that the process was to have, Sandbox the one that it has; nil for none asked for.
	Asked   *sandboxpolicy.Policy
	Sandbox *sandboxpolicy.Capabilities
}

// disabledDir says that a directory is not wanted, where the empty string means the default.
const disabledDir = "-"

func (c Config) withDefaults() (Config, error) {
	var err error
	if c.ConfigDir == "" {
		if c.ConfigDir, err = catalog.ConfigDir(); err != nil {
			return c, err
		}
	}
	if c.CacheDir == "" {
		c.CacheDir = disabledDir
		if dir, err := os.UserCacheDir(); err == nil {
			c.CacheDir = filepath.Join(dir, "agent-pipelines")
		}
	}
	if c.Executable == "" {
		c.Executable = disabledDir
		if exe, err := os.Executable(); err == nil {
			c.Executable = exe
		}
	}
	if c.WorkDir == "" {
		if c.WorkDir, err = os.Getwd(); err != nil {
			return c, err
		}
	}
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	if c.Logger == nil {
		c.Logger = hclog.NewNullLogger()
	}
	if c.Redactor == nil {
		c.Redactor = redact.New(c.Environ)
	}
	if c.PluginLogger == nil {
		c.PluginLogger = c.Logger
	}
	if c.Notify == nil {
		c.Notify = func(Notice) {}
	}
	return c, nil
}

// cachePath is "" when nothing is to be remembered.
func (c Config) cachePath() string {
	if c.CacheDir == disabledDir {
		return ""
	}
	return filepath.Join(c.CacheDir, "describe.json")
}

func (c Config) executable() string {
	if c.Executable == disabledDir {
		return ""
	}
	return c.Executable
}
