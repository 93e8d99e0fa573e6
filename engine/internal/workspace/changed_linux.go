package workspace

import (
	"io/fs"
	"syscall"
	"time"
)

// changedAt returns the time of a file's latest change, its name and rights included. Programs cannot set it, so
// unpacked and moved files with an old modification time show, too.
func changedAt(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && !info.IsDir() {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}
