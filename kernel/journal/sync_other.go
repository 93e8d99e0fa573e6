//go:build !linux

package journal

import "os"

// datasync syncs the data and the length of a file without its times.
func datasync(f *os.File) error { return f.Sync() }
