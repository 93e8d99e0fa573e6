package confine

import (
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
