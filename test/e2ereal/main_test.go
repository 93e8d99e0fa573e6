package e2ereal

import (
	"flag"
	"fmt"
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// TestMain also lets the test binary replace the CLIs.
func TestMain(m *testing.M) {
	if IsFakeCLI() {
		syscall.Exit(RunFakeCLI()) // os.Exit would have it say that it keeps no account of what it covers
	}
	flag.Parse()
	os.Exit(surround(m))
}

// run runs the tests and looks for goroutines that they left.
func run(m *testing.M) int {
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
