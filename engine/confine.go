package engine

import (
	"github.com/dodo-digital/agent-pipelines/engine/internal/sandbox"
	"github.com/dodo-digital/agent-pipelines/kernel/sandboxpolicy"
)

// Confine runs the program of [WithSandboxHelper] with the arguments that the engine appends. It confines this
// process and replaces it by the plugin. It returns, with an exit code, only on failure.
func Confine(args []string) int { return sandbox.Main(args) }

// ParseSize parses a number of bytes, or a size such as 512M or 2G, for [plan.Sandbox].
func ParseSize(text string) (int64, error) { return sandboxpolicy.ParseSize(text) }
