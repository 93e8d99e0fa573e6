package plan

import (
	"cmp"
	"slices"
)

// Sandbox is the requested isolation of plugin processes. Zero values mean "not set".
type Sandbox struct {
	Mode    SandboxMode `json:"mode,omitempty"`
	Network Network     `json:"network,omitempty"`
	// Read and Write are files and directories that may be read, or also written, in addition to those of the mode.
	// They are as written: absolute, relative to the project, or beginning with "~/".
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// Memory is the maximum data size of each process in bytes, Processes their maximum number, and CPU the processor
	// time of each process in seconds. 0: not set, no limit.
	Memory    int64   `json:"memory,omitempty"`
	Processes int     `json:"processes,omitempty"`
	CPU       float64 `json:"cpu,omitempty"`
	// MaxViolations is the maximum number of refused tool calls in an attempt. It requests no isolation.
	MaxViolations int `json:"max_violations,omitempty"`
}

// SandboxMode is the degree of a process's confinement.
type SandboxMode string

// The modes, each stricter than the one before. If none is set (""), components that need no access are confined as
// far as the system allows, and others are not confined.
const (
	SandboxNone      SandboxMode = "none"
	SandboxWorkspace SandboxMode = "workspace" // files: only the project and granted paths; no access to other processes
	SandboxStrict    SandboxMode = "strict"    // also its own file system, processes and names
)

// Network is the network access of a process.
type Network string

// The network settings, each stricter than the one before.
const (
	NetworkOn       Network = "on"
	NetworkLoopback Network = "loopback" // only the sandbox's own loopback interface
	NetworkOff      Network = "off"
)

// SandboxModes returns all modes, the weakest first.
func SandboxModes() []SandboxMode { return []SandboxMode{SandboxNone, SandboxWorkspace, SandboxStrict} }

// Networks returns all network settings, the weakest first.
func Networks() []Network { return []Network{NetworkOn, NetworkLoopback, NetworkOff} }

// IsRequested reports whether isolation is requested. Settings without a mode request [SandboxWorkspace].
func (s *Sandbox) IsRequested() bool {
	return s != nil && s.Complete().Mode != "" && s.Mode != SandboxNone
}

// Complete returns a copy of s with the implied mode set, never nil.
func (s *Sandbox) Complete() *Sandbox {
	if s == nil {
		return &Sandbox{}
	}
	c := *s
	isSet := c.Network != "" || len(c.Read)+len(c.Write) > 0 || c.Memory+int64(c.Processes) > 0 || c.CPU > 0
	if c.Mode == "" && isSet {
		c.Mode = SandboxWorkspace
	}
	return &c
}

// WithDefaults returns s with its unset members taken from below. Both are settings of the same author, in two places.
func (s *Sandbox) WithDefaults(below *Sandbox) *Sandbox {
	if s == nil || below == nil {
		return cmp.Or(s, below)
	}
	merged := *below
	merged.Mode, merged.Network = cmp.Or(s.Mode, merged.Mode), cmp.Or(s.Network, merged.Network)
	merged.Memory, merged.Processes, merged.CPU = cmp.Or(s.Memory, merged.Memory), cmp.Or(s.Processes, merged.Processes), cmp.Or(s.CPU, merged.CPU)
	merged.MaxViolations = cmp.Or(s.MaxViolations, merged.MaxViolations)
	if s.Read != nil {
		merged.Read = s.Read
	}
	if s.Write != nil {
		merged.Write = s.Write
	}
	return &merged
}

// Restrict returns the stricter of each member of s and outer, which are settings of two authors. Read and Write are
// those of s; the caller decides whether outer allows them.
func (s *Sandbox) Restrict(outer *Sandbox) *Sandbox {
	in, out := s.Complete(), outer.Complete()
	in.Mode = stricter(in.Mode, out.Mode, SandboxModes())
	in.Network = stricter(in.Network, out.Network, Networks())
	in.Memory, in.Processes, in.CPU = least(in.Memory, out.Memory), least(in.Processes, out.Processes), least(in.CPU, out.CPU)
	in.MaxViolations = least(in.MaxViolations, out.MaxViolations)
	return in
}

// stricter returns the value that is later in words; "" means not set.
func stricter[W comparable](a, b W, words []W) W {
	if slices.Index(words, a) >= slices.Index(words, b) {
		return a
	}
	return b
}

// least returns the smaller of two limits; 0 means no limit.
func least[N int | int64 | float64](a, b N) N {
	if a == 0 || b == 0 {
		return cmp.Or(a, b)
	}
	return min(a, b)
}
