package firstheap

import (
	"os"
	"runtime"
	"runtime/debug"
)

const (
	// firstPercent makes the first goal of the heap 16 MiB: this share of the runtime's least goal, 4 MiB.
	firstPercent = 400
	// percent is the runtime's default.
	percent = 100
)

// This package imports nothing of other modules, so that it is initialized before most of them. The first collection sets
// the default again. A user's GOGC stays.
func init() { //nolint:gochecknoinits // it must precede the initialization of other packages
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(firstPercent)
	runtime.AddCleanup(new(*int), func(p int) { debug.SetGCPercent(p) }, percent)
}
