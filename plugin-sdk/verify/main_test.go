package verify

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// hostVariable is the environment variable that makes this binary a host for a verification to kill.
const hostVariable = "VERIFY_TEST_HOST"

func TestMain(m *testing.M) {
	if os.Getenv(hostVariable) != "" {
		if err := ServeHost(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func hostCommand() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), hostVariable+"=1")
	return cmd
}

// build builds the bad plugin once and returns a directory with a copy for each mode.
func build(t *testing.T, modes []string) string {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "badplugin")
	cmd := exec.Command("go", "build", "-o", binary, "./testdata/badplugin")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("build the bad plugin: %v", err)
	}
	for _, mode := range modes {
		if err := os.Link(binary, filepath.Join(dir, "agent-plugin-"+mode)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
