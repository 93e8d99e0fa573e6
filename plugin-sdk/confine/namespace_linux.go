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

// enterNamespaces moves the calling thread into the namespaces of the specification.
func (o Spec) enterNamespaces() error {
	if o.User != nil {
		if err := o.User.mapToItself(); err != nil {
			return err
		}
	}
	if len(o.Mounts) > 0 {
		if err := enterMounts(o.Mounts); err != nil {
			return err
		}
	}
	if o.OwnNetwork {
		return enterNetwork()
	}
	return nil
}

// enterMounts moves the calling thread into a new mount namespace with these mount points. The working directory stays. The
// process needs CAP_SYS_ADMIN; the program it becomes cannot undo the mounts without it, nor in a user namespace of its own.
func enterMounts(mounts []Mount) error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil { // no mount is seen outside
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	// A copy of a path below one that is read-only would be read-only, too: all are made before the first is mounted.
	trees := make([]int, len(mounts))
	for i, m := range mounts {
		var err error
		if trees[i], err = copyTree(m.Path); err != nil {
			return fmt.Errorf("copy the mount of %s: %w", m.Path, err)
		}
	}
	for i, m := range mounts {
		if err := m.mount(trees[i]); err != nil {
			return fmt.Errorf("mount %s: %w", m.Path, err)
		}
	}
	return nil
}

// copyTree returns a copy of what is mounted at a path and below it, which is not mounted anywhere yet.
func copyTree(path string) (int, error) {
	at, err := openPath(path)
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	return unix.OpenTree(at, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
}

// mount puts the copy of a path in its place and closes it.
func (m Mount) mount(tree int) error {
	defer unix.Close(tree)
	if m.ReadOnly {
		readOnly := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &readOnly); err != nil {
			return err
		}
	}
	at, err := openPath(m.Path)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// openPath opens a path for its place in the tree of files. A symbolic link in it is an error.
func openPath(path string) (int, error) {
	return unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
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
