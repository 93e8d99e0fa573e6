//go:build !linux

package workspace

import (
	"io/fs"
	"time"
)

// changedAt is when a file changed last.
func changedAt(info fs.FileInfo) time.Time { return info.ModTime() }
