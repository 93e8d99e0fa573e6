package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// U301: the failure of a plugin that the system could not start has a reason and a remedy that fit the system's error.
func TestExecFault(t *testing.T) {
	for _, tt := range []struct {
		err           error
		kind          failure.Kind
		message, hint string
	}{
		{syscall.ENOEXEC, failure.PluginInvalid, "is not a program for", "first line such as"},
		{syscall.EACCES, failure.PluginInvalid, "may not be executed", "chmod +x /p/agent-plugin-x"},
		{fs.ErrPermission, failure.PluginInvalid, "may not be executed", "noexec"},
		{syscall.ENOENT, failure.ProviderMissing, "or the interpreter it names does not exist", "install"},
		{syscall.ETXTBSY, failure.PluginInvalid, "is being written", "renaming"},
		{syscall.ENOMEM, failure.PluginInvalid, "start plugin /p/agent-plugin-x", ""},
	} {
		t.Run(tt.err.Error(), func(t *testing.T) {
			cause := fmt.Errorf("start: %w", &os.PathError{Op: "fork/exec", Path: "/proc/self/fd/7", Err: tt.err})
			f := execError("/p/agent-plugin-x", cause)
			if f.Kind != tt.kind || !strings.Contains(f.Message, tt.message) || !strings.Contains(f.Hint, tt.hint) || !errors.Is(f, tt.err) {
				t.Errorf("failure %+v", f)
			}
		})
	}
}

// A line that a program prints in place of a valid handshake is explained.
func TestHandshakeFault(t *testing.T) {
	for _, tt := range []struct{ name, line, message, hint string }{
		{"no handshake", "hello", `printed "hello" on stdout instead of the handshake`, "stderr"},
		{"a long line", strings.Repeat("x", 100), `printed "` + strings.Repeat("x", 80) + `…"`, "stderr"},
		{"another core", "2|1|unix|/s|grpc|", `core protocol "2", this program speaks 1`, "plugin-sdk"},
		{"a protocol of the future", "1|99|unix|/s|grpc|", "speaks protocol version 99, this program speaks 1", "install a version"},
		{"no grpc", "1|1|unix|/s|netrpc|", "does not speak grpc", "plugin-sdk"},
		{"no kind at all", "1|1|unix|/s", "does not speak grpc", "plugin-sdk"},
		{"anything else", "1|1|smoke|/s|grpc|", "sent an invalid handshake: unknown address type", "unix socket"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := handshakeError("/p/x", tt.line, errors.New("unknown address type"))
			if f.Kind != failure.PluginInvalid || !strings.HasPrefix(f.Message, "plugin /p/x ") || !strings.Contains(f.Message, tt.message) || !strings.Contains(f.Hint, tt.hint) {
				t.Errorf("failure %+v", f)
			}
		})
	}
}

func TestSocketFault(t *testing.T) {
	f := failure.From(socketError("/p/x", errors.New("path too long")))
	if f.Kind != failure.PluginInvalid || !strings.Contains(f.Message, "path too long") || !strings.Contains(f.Hint, "TMPDIR") {
		t.Errorf("failure %+v", f)
	}
}

// The error of a failed start names its cause: the sandbox, a lack of resources, or the program.
func TestNeverStarted(t *testing.T) {
	policy := &sandboxpolicy.Policy{Mode: sandboxpolicy.Strict}
	for name, tt := range map[string]struct {
		policy  *sandboxpolicy.Policy
		err     error
		kind    failure.Kind
		message string
	}{
		"the sandbox refuses":         {policy, fmt.Errorf("wrap: %w", failure.New(failure.SandboxUnavailable, "no bubblewrap")), failure.SandboxUnavailable, "no bubblewrap"},
		"too few descriptors":         {policy, fmt.Errorf("start: %w", syscall.EMFILE), failure.KindOf(execError("/p/x", syscall.EMFILE)), "start plugin /p/x: start: too many open files"},
		"something else in a sandbox": {policy, errors.New("odd"), failure.SandboxUnavailable, "odd"},
		"something else without one":  {nil, fmt.Errorf("start: %w", syscall.ENOEXEC), failure.PluginInvalid, "is not a program for"},
	} {
		t.Run(name, func(t *testing.T) {
			f := failure.From((&Instance{command: "/p/x", policy: tt.policy}).notStartedError(tt.err))
			if f == nil || f.Kind != tt.kind || !strings.Contains(f.Message, tt.message) {
				t.Errorf("failure %+v, want kind %s that says %q", f, tt.kind, tt.message)
			}
		})
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
