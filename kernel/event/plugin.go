package event

// PluginData is the data of plugin_started and plugin_crashed.
type PluginData struct {
	// Detail is the last output of a crashed process.
	Detail string `json:"detail,omitempty"`
	// Environment are the names of the process's environment variables, sorted.
	Environment []string `json:"environment"`
	PID         int      `json:"pid"`
	// Plugin is the command that started the process: the binary's path, and the arguments of a bundled plugin.
	Plugin string `json:"plugin"`
	// Reattached means that the process was already running and is not verified, confined or ended by the kernel.
	Reattached bool   `json:"reattached,omitempty"`
	SHA256     string `json:"sha256"` // of the binary
	// Shared means that the process was already running for another session of the kernel; it ends with the last
	// session that uses it.
	Shared bool `json:"shared,omitempty"`
	// Sandbox is the isolation of a process that was started, nil if there is none.
	Sandbox *SandboxData `json:"sandbox,omitempty"`
}

// SandboxData is the requested and the actual isolation of a process.
type SandboxData struct {
	// Requested and AskedNetwork are the requested isolation. Unasked means that none was requested, and the process has
	// the best available.
	Requested    string `json:"asked"`
	AskedNetwork string `json:"asked_network"`
	Unasked      bool   `json:"unasked,omitempty"`
	// Mode and Network are the actual isolation: none, workspace or strict; on, loopback or off.
	Mode    string `json:"mode"`
	Network string `json:"network"`
	// ToolsNetwork is the network of the plugin's tools, "" if they have that of the process. AskedNetwork is then the one
	// that was requested for them.
	ToolsNetwork string `json:"tools_network,omitempty"`
	// Landlock is the system's Landlock version, Bubblewrap the version of bubblewrap; 0 and "" if unused.
	Landlock   int    `json:"landlock,omitempty"`
	Seccomp    bool   `json:"seccomp,omitempty"`
	Bubblewrap string `json:"bubblewrap,omitempty"`
	// Guarded means that the process could not change .claude, nor git's configuration and hooks.
	Guarded bool `json:"guarded,omitempty"`
	// Read and Write are the absolute paths granted in addition to those of the mode.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// Memory is in bytes and CPU in seconds, for each process; Processes is their maximum number. 0 means no limit.
	Memory    int64   `json:"memory,omitempty"`
	Processes int     `json:"processes,omitempty"`
	CPU       float64 `json:"cpu,omitempty"`
	// Lacks are the missing features of the system, if no isolation was requested.
	Lacks []string `json:"lacks,omitempty"`
}
