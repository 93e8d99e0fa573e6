package catalog

import (
	"io/fs"
	"syscall"
	"time"
)

// settleTime is far above the resolution of file times (a timer tick on older kernels), within which two
// writes leave the same times.
const settleTime = time.Second

// identity changes whenever the content may have changed, because a writer cannot set ctime.
type identity struct {
	dev, ino     uint64
	size         int64
	mtime, ctime syscall.Timespec
}

// identify returns the identity of a file; ok is false for one that changed a moment ago and might change
// again unnoticed.
func identify(info fs.FileInfo) (identity, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || time.Since(time.Unix(st.Ctim.Unix())) < settleTime {
		return identity{}, false
	}
	return identity{dev: st.Dev, ino: st.Ino, size: st.Size, mtime: st.Mtim, ctime: st.Ctim}, true
}
