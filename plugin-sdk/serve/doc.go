// Package serve serves a plugin to the kernel over a socket. An author calls [Main] with the
// plugin. Main answers the argument "describe", performs the handshake with the kernel, and prints
// help to a user who starts the binary.
//
// The package handles heartbeats, messages up to 64 MiB, structured failures, panics, serial
// components and a clean environment for child processes. The kernel holds the write end of the
// plugin's stdin. At end of file on stdin, or at SIGTERM, the package cancels every call, waits up
// to two seconds, and kills the process group.
//
// After the handshake os.Stdout is captured for the kernel's log. os.Stderr is the process's own
// standard error, from which the kernel reads hclog's JSON lines. [Start] serves a plugin inside
// the calling process, for tests.
package serve
