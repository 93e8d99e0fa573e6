package sandbox

import (
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"

	"golang.org/x/sys/unix"
)

// ownNamespaces lets the process make a mount namespace for itself, and network namespaces for its tools. It gets a user
// namespace, so that the capabilities for it mean nothing outside. Root needs none for its mounts. Under strict an ordinary user
// has the one that bubblewrap makes.
func ownNamespaces(b sandboxpolicy.Policy, o *confine.Spec, c *sandboxpolicy.Command) {
	root := os.Geteuid() == 0
	if o.Tools = b.Tools == sandboxpolicy.Loopback; !o.Tools && (root || len(o.Mounts) == 0) {
		return
	}
	o.Added = false // the system counts the processes of a user namespace alone
	if b.Mode == sandboxpolicy.Strict && !root {
		return
	}
	c.Attributes = func(attr *syscall.SysProcAttr) {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.AmbientCaps = confine.ToolCapabilities
		if root { // in all files of the system root keeps its rights, since every user is mapped
			attr.UidMappings, attr.GidMappings = sameIDs("/proc/self/uid_map"), sameIDs("/proc/self/gid_map")
		}
	}
	if !root { // the system lets no other process of the user map it, because this process denies access to its children
		o.User = &confine.User{UID: os.Geteuid(), GID: os.Getegid()}
	}
}

// sameIDs returns a mapping to themselves of the ids that are mapped in this process's namespace, see user_namespaces(7).
func sameIDs(file string) []syscall.SysProcIDMap {
	text, _ := os.ReadFile(file) // without a mapping the start fails
	var all []syscall.SysProcIDMap
	for line := range strings.Lines(string(text)) {
		var first, outside, count int
		if _, err := fmt.Sscan(line, &first, &outside, &count); err == nil {
			all = append(all, syscall.SysProcIDMap{ContainerID: first, HostID: first, Size: count})
		}
	}
	return all
}
