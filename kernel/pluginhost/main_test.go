package pluginhost

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
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

// kernelVariable makes the test program a kernel that uses the plugins of the directory in the variable.
const kernelVariable = "PLUGINHOST_TEST_KERNEL"

// runKernel lets a plugin start children, prints "<plugin> <child> <escaped child>" and waits to be killed.
func runKernel(dir string) int {
	h, err := New(Config{
		PluginDirs: []string{dir}, ConfigDir: dir, CacheDir: disabledDir, Executable: disabledDir, WorkDir: dir,
		RunMarker: os.Getenv(kernelVariable + "_RUN"),
	}, nil)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	ctx := context.Background()
	p, err := h.Provider(ctx, "good", Use{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	pid, err := attempt(ctx, p, "pid", quietExchange{})
	if err == nil {
		var children string
		children, err = attempt(ctx, p, "children", quietExchange{})
		fmt.Println(pid, children)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	time.Sleep(testTimeout)
	return 1
}

func TestKilledKernelLeavesNothing(t *testing.T) {
	for name, stop := range map[string]bool{"plugin at work": false, "plugin stopped": true} {
		t.Run(name, func(t *testing.T) {
			run := fmt.Sprintf("%s-%d/", t.Name(), os.Getpid())
			kernel, pids := startKernel(t, run)
			plugin, child, escaped := pids[0], pids[1], pids[2]
			if stop {
				check(t, signal(plugin, syscall.SIGSTOP))
				eventually(t, "the plugin is stopped", func() bool { return stopped(plugin) })
			}
			found, err := new(process.Table).Sweep(t.Context(), []string{run}, time.Second)
			require(t, err == nil && len(found) == 0, found, err)
			check(t, kernel.Process.Kill())
			_ = kernel.Wait()
			for _, pid := range []string{plugin, child} {
				eventually(t, "process "+pid+" dies with the kernel", func() bool { return !runs(pid) })
			}
			found = must(new(process.Table).Sweep(t.Context(), []string{run}, time.Second))
			assertSwept(t, found, escaped)
		})
	}
}

// startKernel returns the process ids of the plugin, its child, and its child outside the group.
func startKernel(t *testing.T, run string) (*exec.Cmd, []string) {
	t.Helper()
	kernel := exec.Command(os.Args[0])
	kernel.Env = append(os.Environ(), kernelVariable+"="+newPluginDir(t, "good"), kernelVariable+"_RUN="+run+"r1")
	// The kernel gets a session of its own, as under a terminal. Other tests let this process adopt orphans. A group
	// whose new parent is in the group's session is not orphaned, and nothing would wake a stopped plugin.
	kernel.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out := must(kernel.StdoutPipe())
	check(t, kernel.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	pids := strings.Fields(line)
	require(t, err == nil && len(pids) == 3, line, err)
	return kernel, pids
}

func signal(pid string, s syscall.Signal) error {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return err
	}
	return syscall.Kill(n, s)
}

// require ends the test and shows the values unless ok.
func require(t testing.TB, ok bool, values ...any) {
	t.Helper()
	if !ok {
		for _, v := range values {
			t.Logf("%+v", v)
		}
		t.FailNow()
	}
}
