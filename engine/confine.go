package engine

import (
	"github.com/dodo-digital/agent-pipelines/engine/internal/sandbox"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
)

// Confine ends the command line of [WithSandboxHelper]. It confines this process and becomes the plugin given
// by the remaining arguments. It returns, with an exit code, only on failure.
func Confine(args []string) int { return sandbox.Main(args) }

// ParseSize parses a number of bytes, or a size such as 512M or 2G, for [plan.Sandbox].
func ParseSize(text string) (int64, error) { return sandboxpolicy.ParseSize(text) }
