// Package sandbox confines a process: the files that it reads and writes, the network that it reaches, and the
// resources that it uses.
//
// A [sandboxpolicy.Policy] is the input. [Sandbox.Check] reports whether this system can apply it and refuses with
// the reason and the remedy if it cannot; [Sandbox.Wrap] returns the command line to start instead of the program. In
// both modes that command starts this program again with the hidden verb [confine.Verb]. The verb calls [confine.Main], which
// restricts its own process and then executes the program. Every child inherits the restrictions.
//
//   - [sandboxpolicy.Workspace]: Landlock for files, abstract sockets and signals, a seccomp filter for the rest, and
//     rlimits. It needs no privilege and no other program. Where the system allows it, a mount namespace makes git's
//     configuration and hooks, and .claude, read-only.
//   - [sandboxpolicy.Strict]: bubblewrap around the seccomp filter, rlimits and, if available, Landlock for abstract
//     sockets and signals. The process sees only the listed files and its own process numbers, and everything that it
//     started ends with it. It cannot write git's configuration and hooks, nor .claude.
package sandbox
