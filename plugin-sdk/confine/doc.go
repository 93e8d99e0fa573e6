// Package confine restricts the calling process on Linux and then executes a program in it.
//
// [Main] applies a [Spec] to its own process: Landlock for files, abstract sockets and signals, a seccomp filter for system
// calls and sockets, and resource limits. Every child inherits the restrictions. A program calls Main first when its first
// argument is [Verb]. The kernel's program starts plugins in this way.
package confine

// Verb is the first argument with which a program calls [Main].
const Verb = "__sandbox"

// Probed is the output of a probe, ExitStartError the exit code of a process that could not apply its [Spec].
const (
	Probed         = "the sandbox was applied"
	ExitStartError = 126
)

// OwnFiles is the directory of a process's own descriptors.
const OwnFiles = "/proc/self/fd/"
