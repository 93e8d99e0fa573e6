package confine

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Without the variable a tool is started as it is.
func TestToolWithoutSandbox(t *testing.T) {
	for _, env := range [][]string{nil, {"A=1", ModeVariable + "=workspace"}, {ToolsVariable + "="}} {
		name, args := Tool(env, "/bin/x", []string{"a", "b"})
		if diff := cmp.Diff([]string{"/bin/x", "a", "b"}, append([]string{name}, args...)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", env, diff)
		}
	}
}

// Unix sockets are closed where a tool could reach those of other programs.
func TestToolSpec(t *testing.T) {
	abi := min(ABI(), MaxABI)
	for _, tt := range []struct {
		mode string
		n    Network
		want Spec
	}{
		{"workspace", On, Spec{Network: On, Seccomp: true}},
		{"workspace", Off, Spec{Network: Off, Seccomp: true}},
		{"workspace", Loopback, Spec{Network: Loopback, Seccomp: true, OwnNetwork: true, NoUnix: abi < resolveUnixABI}},
		{"strict", Loopback, Spec{Network: Loopback, Seccomp: true, OwnNetwork: true}},
	} {
		if abi >= LeastABI {
			tt.want.Landlock = abi
		}
		got := toolSpec([]string{ToolsVariable + "=x", ModeVariable + "=" + tt.mode, ToolsVariable + "=" + string(tt.n)})
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.mode, tt.n, diff)
		}
	}
}

// A tool runs with its arguments and its own name; what cannot be had ends it before it runs.
func TestToolRuns(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("nothing is confined on this system")
	}
	run := func(n string) (string, int) {
		name, args := Tool([]string{ToolsVariable + "=" + n}, "/bin/sh", []string{"-c", `echo "$0 $1 $(grep Seccomp: /proc/self/status)"`, "zero", "one"})
		c := exec.Command(name, args...)
		c.Env = os.Environ()
		out, _ := c.CombinedOutput() // the exit code shows the end
		return string(out), c.ProcessState.ExitCode()
	}
	if out, code := run("off"); out != "zero one Seccomp:\t2\n" || code != 0 {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := run("some"); code != ExitStartError || !strings.Contains(out, `network \"some\" is not known`) {
		t.Errorf("exit code %d: %s", code, out)
	}
}
