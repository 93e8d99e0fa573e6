package confine

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mapToItself maps the user and its group in the process's user namespace, as user_namespaces(7) allows a process to map
// itself. Before, no file belongs to it.
func (u User) mapToItself() error {
	for _, f := range []struct{ name, text string }{
		{"setgroups", "deny"},
		{"gid_map", fmt.Sprintf("%d %d 1", u.GID, u.GID)},
		{"uid_map", fmt.Sprintf("%d %d 1", u.UID, u.UID)},
	} {
		if err := os.WriteFile("/proc/self/"+f.name, []byte(f.text), 0); err != nil {
			return fmt.Errorf("map the user in its namespace: %w", err)
		}
	}
	return nil
}

// enterNetwork moves the calling thread into a new network namespace and starts the loopback interface there.
func enterNetwork() error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("make a network namespace: %w", err)
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("start the loopback interface: %w", err)
	}
	defer unix.Close(s)
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	loopback.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, loopback); err != nil {
		return fmt.Errorf("start the loopback interface: %w", err)
	}
	return nil
}
