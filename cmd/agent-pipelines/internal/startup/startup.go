package startup

import (
	"os"
	"runtime"
	"runtime/debug"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
)

const (
	// firstPercent makes the first goal of the heap 16 MiB: this share of the runtime's least goal, 4 MiB.
	firstPercent = 400
	// percent is the runtime's default.
	percent = 100
)

// This package imports little, so that it is initialized before most others. A process with [confine.Verb] confines itself
// and becomes another program: the engine starts plugins in it, and a bundled plugin its tools. The first collection sets
// the default of GOGC again; a user's GOGC stays.
func init() { //nolint:gochecknoinits // it must precede the initialization of other packages
	if len(os.Args) > 1 && os.Args[1] == confine.Verb {
		os.Exit(confine.Main(os.Args[2:])) //nolint:forbidigo // main comes too late
	}
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(firstPercent)
	runtime.AddCleanup(new(*int), func(p int) { debug.SetGCPercent(p) }, percent)
}
