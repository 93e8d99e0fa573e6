package confine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// Spec lists the restrictions that a process applies to itself before it executes the program. The specification is the
// process's first argument, as JSON; the program's own arguments follow, argument 0 included.
type Spec struct {
	// Exec is the file to execute. In a probe it is "": the process applies the restrictions and prints [Probed].
	Exec string `json:"exec,omitempty"`
	// Loader holds variables of the program's environment that would already affect the confining programs.
	Loader []string `json:"loader,omitempty"`
	// Network decides which system calls the filter allows.
	Network Network `json:"network"`
	// Landlock is the ABI whose rights are handled, 0 for no Landlock. With Files it also restricts files; without
	// Files, only connections and signals.
	Landlock int  `json:"landlock,omitempty"`
	Files    bool `json:"files,omitempty"`
	// Read, Write and Devices are the allowed paths.
	Read    []string `json:"read,omitempty"`
	Write   []string `json:"write,omitempty"`
	Devices []string `json:"devices,omitempty"`
	// Seccomp installs the filter. NoUnix lets it refuse Unix sockets, but for connected pairs.
	Seccomp bool `json:"seccomp,omitempty"`
	NoUnix  bool `json:"no_unix,omitempty"`
	// Tools keeps [ToolCapabilities], so that the OwnNetwork of a tool's Spec works. The process must have them.
	Tools bool `json:"tools,omitempty"`
	// OwnNetwork moves the process into a network that has only a loopback interface.
	OwnNetwork bool `json:"own_network,omitempty"`
	// Mounts become mount points in a mount namespace of the process's own, each one before those below it. They cannot be
	// moved, and a ReadOnly path in Write cannot be written.
	Mounts []Mount `json:"mounts,omitempty"`
	// User is mapped to itself in the user namespace in which the process was started. Nil: it is mapped already.
	User *User `json:"user,omitempty"`
	// Processes is RLIMIT_NPROC, 0 for no limit; Added adds the number of the user's running tasks.
	Processes int  `json:"processes,omitempty"`
	Added     bool `json:"beside,omitempty"`
	// Memory is RLIMIT_DATA in bytes, CPU is RLIMIT_CPU in seconds, 0 for no limit.
	Memory int64 `json:"memory,omitempty"`
	CPU    int64 `json:"cpu,omitempty"`
}

// Mount is a file or directory by its absolute path, which leads through no symbolic link.
type Mount struct {
	Path     string `json:"path"`
	ReadOnly bool   `json:"read_only,omitempty"`
}

// User is a user and its group, by their ids.
type User struct {
	UID int `json:"uid"`
	GID int `json:"gid"`
}

// Network is the network access of a process.
type Network string

// With Off a process reaches no network and accepts connections on its own Unix sockets. Loopback is an interface of its
// own sandbox.
const (
	On       Network = "on"
	Off      Network = "off"
	Loopback Network = "loopback"
)

// MaxABI is the newest Landlock ABI whose rights are known here.
const MaxABI = 9

// parseSpec reads a specification strictly: it refuses unknown members and invalid values.
func parseSpec(text string) (Spec, error) {
	var o Spec
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return Spec{}, fmt.Errorf("read the specification: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Spec{}, errors.New("read the specification: unexpected text after it")
	}
	return o, o.check()
}

func (o Spec) check() error {
	switch o.Network {
	case On, Off, Loopback:
	default:
		return fmt.Errorf("network %q is not known", o.Network)
	}
	if o.Landlock < 0 || o.Landlock > MaxABI {
		return fmt.Errorf("landlock ABI %d is not known", o.Landlock)
	}
	if o.Files && o.Landlock == 0 {
		return errors.New("files cannot be confined without landlock")
	}
	if o.Processes < 0 || o.Memory < 0 || o.CPU < 0 {
		return errors.New("a limit is negative")
	}
	paths := slices.Concat(o.Read, o.Write, o.Devices)
	for _, m := range o.Mounts {
		paths = append(paths, m.Path)
	}
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			return fmt.Errorf("path %q is not absolute", p)
		}
	}
	return nil
}

func (o Spec) String() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(o) // a struct of texts and numbers always encodes
	return strings.TrimSpace(b.String())
}
