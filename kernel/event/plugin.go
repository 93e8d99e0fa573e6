package event

// PluginData is the data of plugin_started and plugin_crashed.
type PluginData struct {
	// Detail are the last words of a process that fell.
	Detail string `json:"detail,omitempty"`
	// Environment are the names of the variables that the process was given, sorted.
	Environment []string `json:"environment"`
	PID         int      `json:"pid"`
	// Plugin is how the process was started: the binary's path, and the arguments of a bundled plugin.
	Plugin string `json:"plugin"`
	// Reattached: the process ran already, and is not checked, confined or ended by the kernel.
	Reattached bool   `json:"reattached,omitempty"`
	SHA256     string `json:"sha256"` // of the binary
	// Shared: the process ran already for another session of the kernel, and ends with the last one that uses it.
	Shared bool `json:"shared,omitempty"`
	// Sandbox is the isolation of a process that was started, nil where there is none.
	Sandbox *SandboxData `json:"sandbox,omitempty"`
}

// SandboxData says what isolation was asked for a process, and what it has.
type SandboxData struct {
	// Asked and AskedNetwork are what was asked for. Unasked: nobody asked, and the process has the best that
	// there is.
	Asked        string `json:"asked"`
	AskedNetwork string `json:"asked_network"`
	Unasked      bool   `json:"unasked,omitempty"`
	// Mode and Network are what the process has: none, workspace or strict; on, loopback or off.
	Mode    string `json:"mode"`
	Network string `json:"network"`
	// Landlock is the version of the system's Landlock that confines it, Bubblewrap that of bubblewrap; 0 and ""
	// for neither.
	Landlock   int    `json:"landlock,omitempty"`
	Seccomp    bool   `json:"seccomp,omitempty"`
	Bubblewrap string `json:"bubblewrap,omitempty"`
	// Read and Write are the absolute paths that were granted beyond what every process of the mode may read.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// Memory is in bytes and CPU in seconds, for each process; Processes is their number. 0 is no limit.
	Memory    int64   `json:"memory,omitempty"`
	Processes int     `json:"processes,omitempty"`
	CPU       float64 `json:"cpu,omitempty"`
	// Lacks says what of it the system cannot do, where nobody asked.
	Lacks []string `json:"lacks,omitempty"`
}
