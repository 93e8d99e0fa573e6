package trust

import (
	"cmp"
	"errors"
	"os"
)

// errReplaced: the file of the running program is not the one that was started.
var errReplaced = errors.New("the program was replaced while it runs")

// programPath is where the running program lies, or lay when it was started.
func programPath() string {
	path, _ := os.Executable()
	return cmp.Or(path, os.Args[0])
}
