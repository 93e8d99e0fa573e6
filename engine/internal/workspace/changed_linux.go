package workspace

import (
	"io/fs"
	"syscall"
	"time"
)

// changedAt is when a file changed last, its name or rights included: a time that nobody sets, so that what was
// unpacked or moved here with an old one shows, too.
func changedAt(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && !info.IsDir() {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}
