//go:build !linux

package trust

import "io/fs"

type identity struct{}

// identify knows no identity here: every check reads the file.
func identify(fs.FileInfo) (identity, bool) { return identity{}, false }
