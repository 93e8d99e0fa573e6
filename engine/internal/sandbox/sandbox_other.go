//go:build !linux

package sandbox

import (
	"context"

	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Check refuses every policy except one with [sandboxpolicy.Policy.BestEffort].
func (s *Sandbox) Check(_ context.Context, b sandboxpolicy.Policy) (sandboxpolicy.Capabilities, error) {
	return b.Refuse(failure.New(failure.SandboxUnavailable, "sandbox %s is not available on %s", b.Mode, confine.System()).
		WithHint("run it on Linux (in a container or a virtual machine), or without policy.sandbox"))
}

// Wrap returns the unconfined program where [sandboxpolicy.Policy.BestEffort] allows it.
func (s *Sandbox) Wrap(ctx context.Context, b sandboxpolicy.Policy, p sandboxpolicy.Program) (*sandboxpolicy.Command, error) {
	if _, err := s.Check(ctx, b); err != nil {
		return nil, err
	}
	return sandboxpolicy.Unconfined(p), nil
}

// CheckRepository does nothing: no process is confined on this system.
func CheckRepository(context.Context, string) error { return nil }
