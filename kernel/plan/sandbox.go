package plan

import (
	"cmp"
	"slices"
)

// Sandbox is what somebody asks of the isolation of plugin processes. Zero values say nothing.
type Sandbox struct {
	Mode    SandboxMode `json:"mode,omitempty"`
	Network Network     `json:"network,omitempty"`
	// Read and Write are files and directories that may be read, or also written, beyond what every process of
	// the mode may: as they were written, that is absolute, relative to the project, or beginning with "~/".
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// Memory bounds the data of each process, in bytes, Processes how many there may be at once, and CPU the
	// processor time of each process, in seconds. 0: not said, which is no limit.
	Memory    int64   `json:"memory,omitempty"`
	Processes int     `json:"processes,omitempty"`
	CPU       float64 `json:"cpu,omitempty"`
}

// SandboxMode is how far a process is confined.
type SandboxMode string

// The modes, each stricter than the one before it. Where nobody says anything, "", components that need
// nothing are confined as well as the system can, and others are not.
const (
	SandboxNone      SandboxMode = "none"
	SandboxWorkspace SandboxMode = "workspace" // of the file system the project and what is granted; no way into other processes
	SandboxStrict    SandboxMode = "strict"    // also a file system, processes and names of its own
)

// Network is what of the network a process may use.
type Network string

// The words for the network, each stricter than the one before it.
const (
	NetworkOn       Network = "on"
	NetworkLoopback Network = "loopback" // a loopback interface of the sandbox's own
	NetworkOff      Network = "off"
)

// SandboxModes and Networks are all words, the weakest first.
func SandboxModes() []SandboxMode { return []SandboxMode{SandboxNone, SandboxWorkspace, SandboxStrict} }

// Networks are all words, see [SandboxModes].
func Networks() []Network { return []Network{NetworkOn, NetworkLoopback, NetworkOff} }

// Asks reports whether isolation is asked for. Whoever says something of it and no mode asks for
// [SandboxWorkspace].
func (s *Sandbox) Asks() bool {
	return s != nil && s.Complete().Mode != "" && s.Mode != SandboxNone
}

// Complete is s with the mode that is meant where something else is said, never nil.
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

// Over returns s with the members that only below has: the word of one author in two places.
func (s *Sandbox) Over(below *Sandbox) *Sandbox {
	if s == nil || below == nil {
		return cmp.Or(s, below)
	}
	merged := *below
	merged.Mode, merged.Network = cmp.Or(s.Mode, merged.Mode), cmp.Or(s.Network, merged.Network)
	merged.Memory, merged.Processes, merged.CPU = cmp.Or(s.Memory, merged.Memory), cmp.Or(s.Processes, merged.Processes), cmp.Or(s.CPU, merged.CPU)
	if s.Read != nil {
		merged.Read = s.Read
	}
	if s.Write != nil {
		merged.Write = s.Write
	}
	return &merged
}

// Within returns what holds where s and outer are the words of two who both have a say: the stricter of each
// member. What may be read and written is s's own: whether it counts beside outer's, the caller knows.
func (s *Sandbox) Within(outer *Sandbox) *Sandbox {
	in, out := s.Complete(), outer.Complete()
	in.Mode = stricter(in.Mode, out.Mode, SandboxModes())
	in.Network = stricter(in.Network, out.Network, Networks())
	in.Memory, in.Processes, in.CPU = least(in.Memory, out.Memory), least(in.Processes, out.Processes), least(in.CPU, out.CPU)
	return in
}

// stricter is the later of two words; "" says nothing.
func stricter[W comparable](a, b W, words []W) W {
	if slices.Index(words, a) >= slices.Index(words, b) {
		return a
	}
	return b
}

// least is the smaller of two limits of which 0 is none.
func least[N int | int64 | float64](a, b N) N {
	if a == 0 || b == 0 {
		return cmp.Or(a, b)
	}
	return min(a, b)
}
