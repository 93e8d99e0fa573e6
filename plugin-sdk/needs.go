package sdk

import (
	"fmt"
	"path"
	"strings"
)

// Needs is what a component cannot do its work without while it is confined. It is a request: whoever
// installs the plugin grants it or does not, and `plugins info` shows it. What is not said is not
// needed: a termination strategy or a hook action without needs runs confined, without network, in a
// project that it may read.
type Needs struct {
	// Network: it opens connections. Providers are taken to do so in any case.
	Network bool `json:"network,omitempty"`
	// Commands: it runs commands of the user's, which may need anything: it may write the project and use
	// the network. Only a component that comes with the kernel's own program is not confined for that.
	Commands bool `json:"commands,omitempty"`
	// Read and Write are files and directories beyond the project that it reads, or also writes: absolute, or
	// beginning with "~/" (the user's home) or "${NAME}" (a variable of the user's environment that holds
	// an absolute path). Those that do not exist, or whose variable is not set, are left out.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
}

// Nothing reports whether nothing is needed.
func (n *Needs) Nothing() bool {
	return n == nil || !n.Network && !n.Commands && len(n.Read)+len(n.Write) == 0
}

// CheckNeed says what is wrong with a path of [Needs], nil if nothing is.
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
