package e2ereal

import (
	"flag"
	"fmt"
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs the tests, or acts as a CLI if the binary was started as one.
func TestMain(m *testing.M) {
	if IsFakeCLI() {
		syscall.Exit(RunFakeCLI()) // with -cover, os.Exit would print a warning about missing coverage data
	}
	flag.Parse()
	os.Exit(surround(m))
}

// run runs the tests and fails if they leave goroutines.
func run(m *testing.M) int {
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
