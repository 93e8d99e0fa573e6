package sdk

import (
	"fmt"
	"path"
	"strings"
)

// Needs lists the access that a confined component requires. It is a request: the user who installs
// the plugin grants or denies it, and `plugins info` shows it.
//
// Without needs, a termination strategy or a hook action runs confined, without network, and with
// read access to the project.
type Needs struct {
	// Network states that the component opens connections. Providers may open connections without this
	// need, unless the user's sandbox settings forbid it.
	Network bool `json:"network,omitempty"`
	// Commands states that the component runs the user's commands, which may write the project and use
	// the network. Only a component built into the kernel's program runs unconfined for this need.
	Commands bool `json:"commands,omitempty"`
	// Read and Write are files and directories outside the project that the component reads, or
	// also writes. A path is absolute or begins with "~/" (the user's home) or "${NAME}" (an
	// environment variable that holds an absolute path). Paths that do not exist, or whose variable
	// is not set, are ignored.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// Environment are the names of environment variables that configure the component, or [AllVariables]. Only a
	// component built into the kernel's program gets them for this need; others get the variables that their
	// configuration names.
	Environment []string `json:"environment,omitempty"`
}

// AllVariables in [Needs] stands for the user's environment without the variables whose names mark secrets. The user names
// secrets in the component's configuration.
const AllVariables = "*"

// IsEmpty reports whether the component has no needs.
func (n *Needs) IsEmpty() bool {
	return n == nil || !n.Network && !n.Commands && len(n.Read)+len(n.Write)+len(n.Environment) == 0
}

// CheckVariable returns an error if name is not the name of an environment variable.
func CheckVariable(name string) error {
	if name == "" || strings.ContainsAny(name, "=\x00 ") {
		return fmt.Errorf("%q is not the name of an environment variable", name)
	}
	return nil
}

// CheckNeed returns an error if p is not a valid path of [Needs].
func CheckNeed(p string) error {
	rest, home := strings.CutPrefix(p, "~/")
	if variable, after, ok := strings.Cut(strings.TrimPrefix(p, "${"), "}"); ok && strings.HasPrefix(p, "${") && variable != "" && (after == "" || after[0] == '/') {
		rest, home = strings.TrimPrefix(after, "/"), true
	}
	if !home && !strings.HasPrefix(p, "/") {
		return fmt.Errorf("path %q: want an absolute one, or one that begins with ~/ or ${NAME}", p)
	}
	if clean := path.Clean("/" + rest); strings.ContainsRune(p, 0) || rest != "" && clean != "/"+strings.Trim(rest, "/") {
		return fmt.Errorf("path %q: write it without . or .. in it", p)
	}
	return nil
}
