package pluginhost

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

// badplugin is the program of testdata/badplugin, built once.
var badplugin string

func TestMain(m *testing.M) {
	if dir := os.Getenv(kernelVariable); dir != "" {
		os.Exit(runKernel(dir))
	}
	if code, asked := serveBundled(); asked {
		os.Exit(code)
	}
	dir, err := os.MkdirTemp("", "badplugin-")
	if err == nil {
		badplugin = filepath.Join(dir, "badplugin")
		build := exec.Command("go", "build", "-o", badplugin, "./testdata/badplugin")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the plugins of the tests:", err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

// must returns v, or panics with err.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// check ends the test if err is not nil.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
