//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"os"
	"runtime"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func (s *Sandbox) check(_ context.Context, b sandboxpolicy.Policy) (sandboxpolicy.Capabilities, error) {
	return b.Refuse(failure.New(failure.SandboxUnavailable, "sandbox %s is not available on %s", b.Mode, system()).
		WithHint("run it on Linux (in a container or a virtual machine), or without policy.sandbox"))
}

func (s *Sandbox) wrap(sandboxpolicy.Policy, sandboxpolicy.Capabilities, sandboxpolicy.Program) (*sandboxpolicy.Command, error) {
	return nil, errors.ErrUnsupported
}

func landlockABI() int { return 0 }

func system() string {
	if runtime.GOOS == "darwin" {
		return "macOS"
	}
	return runtime.GOOS
}

// Main fails: nothing can be confined on this system.
func Main([]string) int {
	_, _ = os.Stderr.WriteString(sandboxpolicy.StartError{Text: "not available on " + system()}.Line())
	return exitTrouble
}
