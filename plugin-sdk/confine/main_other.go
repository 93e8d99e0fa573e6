//go:build !linux

package confine

import (
	"os"
	"runtime"
)

// Supported is false: no process can be confined on this system.
const Supported = false

// ABI returns 0: there is no Landlock on this system.
func ABI() int { return 0 }

// System is the name of this system for users.
func System() string {
	if runtime.GOOS == "darwin" {
		return "macOS"
	}
	return runtime.GOOS
}

// Main fails: nothing can be confined on this system.
func Main([]string) int {
	_, _ = os.Stderr.WriteString(StartError{Text: "not available on " + System()}.Line())
	return ExitStartError
}
