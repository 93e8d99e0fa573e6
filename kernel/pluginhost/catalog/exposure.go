package catalog

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Exposure says how somebody else could have written the file or directory, "" if nobody could: it must
// belong to this user or to root and be closed to the world.
func Exposure(info fs.FileInfo) string {
	if info.Mode().Perm()&0o002 != 0 {
		return "writable by everybody (chmod o-w makes it safe)"
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return fmt.Sprintf("owned by user %d, neither by you nor by root", st.Uid)
	}
	return ""
}
