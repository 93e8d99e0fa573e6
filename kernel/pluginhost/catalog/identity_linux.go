package catalog

import (
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// settleTime is far above the resolution of file times (a timer tick on older kernels), within which two
// writes leave the same times.
const settleTime = time.Second

// identity of a file is its device, inode, size, mtime and ctime. It changes whenever the content may have changed,
// because a writer cannot set ctime.
type identity string

// identify returns the identity of a file, "" for a file that changed a moment ago and might change again unnoticed.
func identify(info fs.FileInfo) identity {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || time.Since(time.Unix(st.Ctim.Unix())) < settleTime {
		return ""
	}
	return identity(fmt.Sprintf("%d:%d:%d:%d:%d", st.Dev, st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()))
}
