//go:build !linux

package catalog

import "io/fs"

// identity of a file is always "" on this system.
type identity string

// identify returns "", so that every file is read again on this system.
func identify(fs.FileInfo) identity { return "" }
