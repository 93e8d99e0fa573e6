package confine

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file calls Landlock directly, because go-landlock follows symbolic links in granted paths, and an agent may have
// made the links. The rights are those of linux/landlock.h; each ABI added rights.

const (
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	readRights   = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	deviceRights = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	writeRights = readRights | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
)

// handled returns the file rights that Landlock of this ABI version can restrict.
func handled(abi int) uint64 {
	rights := uint64(unix.LANDLOCK_ACCESS_FS_MAKE_SYM)<<1 - 1 // ABI 1 has all rights up to this one
	for _, added := range []struct {
		abi   int
		right uint64
	}{
		{2, unix.LANDLOCK_ACCESS_FS_REFER},
		{3, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		{9, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX},
	} {
		if abi >= added.abi {
			rights |= added.right
		}
	}
	return rights
}

// ABI returns the Landlock ABI version of this kernel, 0 for none.
func ABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// restrict confines the calling thread, which must have no_new_privs set, and its descendants.
func (o Spec) restrict() error {
	var attr unix.LandlockRulesetAttr
	switch { // a ruleset that does not handle REFER denies it: no file could move to another directory
	case o.Files:
		attr.Handled_access_fs = handled(o.Landlock)
	case o.Landlock >= 2:
		attr.Handled_access_fs = unix.LANDLOCK_ACCESS_FS_REFER
	}
	if o.Landlock >= 4 && o.Network == Off {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if o.Landlock >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	// The size covers the three words that ABI 6 knows. An older kernel accepts it if the words unknown to it are zero.
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), 3*unsafe.Sizeof(uint64(0)), 0)
	if errno != 0 {
		return fmt.Errorf("landlock ABI %d: %w", o.Landlock, errno)
	}
	ruleset := os.NewFile(set, "landlock")
	defer ruleset.Close()
	if !o.Files {
		if err := allow(ruleset, "/", attr.Handled_access_fs); err != nil {
			return fmt.Errorf("allow moves: %w", err)
		}
	}
	for _, granted := range []struct {
		paths  []string
		rights uint64
	}{{o.Read, readRights}, {o.Write, writeRights}, {o.Devices, deviceRights}} {
		for _, p := range granted.paths {
			if err := allow(ruleset, p, granted.rights&attr.Handled_access_fs); err != nil {
				return fmt.Errorf("allow %s: %w", p, err)
			}
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset.Fd(), 0, 0); errno != 0 {
		return fmt.Errorf("landlock ABI %d: %w", o.Landlock, errno)
	}
	return nil
}

// allow grants the rights to a file or a directory tree. A path through a symbolic link grants
// nothing: the list already has the real path of each link found earlier, and an agent may have made any
// newer link.
func allow(ruleset *os.File, path string, rights uint64) error {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	if strings.HasPrefix(path, OwnFiles) {
		how.Resolve = 0 // the program itself, which the host has opened
	}
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &how)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) {
		return nil // the path was removed or replaced since it was found: there is nothing to grant
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	rule := landlockPath{rights, int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, ruleset.Fd(), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// landlockPath is struct landlock_path_beneath_attr, which is packed: the kernel reads twelve bytes.
type landlockPath struct {
	rights uint64
	fd     int32
}
