package catalog

import sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

// Plugin is a binary that may be checked and started.
type Plugin struct {
	// Name is the part after the prefix: "claude" for agent-plugin-claude.
	Name string `json:"name"`
	// Path is the file, possibly a symbolic link. For a bundled plugin it is the running program.
	Path string `json:"path"`
	// Args are the plugin's first arguments; none for a file that is a single plugin.
	Args []string `json:"args,omitempty"`
	// Source is the origin of the plugin's directory, [FromBundle] or [FromReattach].
	Source Source `json:"source"`
	// Running is the process of a plugin that already runs, nil for all others. If it is set, Path is its socket.
	Running *RunningProcess `json:"running,omitempty"`
	// Describe describes a bundled plugin, see [Bundled]; nil if the plugin must be started to be described.
	Describe func() (sdk.Description, error) `json:"-"`
}

// Command returns the plugin's command line for messages; "" for no plugin.
func (c Plugin) Command() string { return Command(c.Path, c.Args) }

// Open opens and checks the plugin's program, see [Verifier.Open]. The caller closes it.
func (c Plugin) Open(v *Verifier) (*Binary, error) {
	return v.checkLocks(c.Read(v))
}

// Read opens the plugin's program as Open does, without checking its digest against the locks.
func (c Plugin) Read(v *Verifier) (*Binary, error) {
	if c.Source == FromBundle {
		return v.ReadSelf(Prefix+c.Name, c.Args)
	}
	return v.Read(c.Path)
}

// RunningProcess is a plugin process started by another program, such as a debugger.
type RunningProcess struct {
	// Protocol is grpc, Version the major version of the plugin protocol.
	Protocol string `json:"protocol"`
	Version  int    `json:"version"`
	// PID is its process id, for messages.
	PID int `json:"pid"`
	// Address is the absolute path of the process's Unix socket.
	Address string `json:"addr"`
}

// Bundled is a plugin that the running program contains: started with Args, the program serves the
// plugin and does nothing else.
type Bundled struct {
	// Name is the plugin's name, as in agent-plugin-<name>.
	Name string
	// Args are the arguments; at least one.
	Args []string
	// Describe describes the plugin in this process, so that no process has to be started. It must return
	// the same description as the served plugin. Nil: the plugin is started, and its description cached.
	Describe func() (sdk.Description, error)
}
