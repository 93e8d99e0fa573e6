//go:build crashpoints

package failpoint_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
)

// The child has three points and dies at the second.
func TestCrashAtPoint(t *testing.T) {
	if os.Getenv("CRASH_TEST_CHILD") != "" {
		failpoint.Point("one")
		failpoint.Point("two")
		failpoint.Point("three")
		return
	}
	log := filepath.Join(t.TempDir(), "points")
	cmd := exec.Command(os.Args[0], "-test.run", "^TestCrashAtPoint$")
	cmd.Env = append(os.Environ(), "CRASH_TEST_CHILD=1", "AGENT_PIPELINES_CRASH_AT=2", "AGENT_PIPELINES_CRASH_LOG="+log)

	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child ended with %v, want SIGKILL", err)
	}
	got, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("1 one\n2 two\n", string(got)); diff != "" {
		t.Error(diff)
	}
}
