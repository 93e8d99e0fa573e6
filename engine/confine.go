package engine

import (
	"github.com/dodo-digital/agent-pipelines/engine/internal/sandbox"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
)

// Confine confines this process and replaces it by a plugin. args are the arguments that the engine appends to the
// command of [WithSandboxHelper]. Confine returns an exit code on failure and after a probe; the caller must exit.
func Confine(args []string) int { return sandbox.Main(args) }

// ParseSize parses a number of bytes or a size such as 512M, in powers of 1024, for [plan.Sandbox]. Minimum: 16M.
func ParseSize(text string) (int64, error) { return sandboxpolicy.ParseSize(text) }
