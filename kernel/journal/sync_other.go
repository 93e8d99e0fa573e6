//go:build !linux

package journal

import "os"

// datasync syncs the data, the length and the times of a file.
func datasync(f *os.File) error { return f.Sync() }
