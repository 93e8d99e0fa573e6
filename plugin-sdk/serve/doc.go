// Package serve runs a plugin: it is the plugin's end of the socket.
//
// An author calls [Main] with the plugin and nothing else. Main answers the argument "describe",
// speaks the handshake when the kernel started the process, and explains itself to a person who did.
//
// What it takes care of, so that components need not: heartbeats, messages up to 64 MiB, failures
// that keep their structure, panics that become failures, serial components, a clean environment for
// the children that components start, and an end with the kernel's end. The kernel holds the write
// end of the plugin's stdin and never writes: end of file there (or SIGTERM) cancels every call, gives
// components two seconds, and then ends the whole process group.
//
// After the handshake os.Stdout is captured and appears in the kernel's log; os.Stderr is the process's
// own standard error, where the kernel reads hclog's JSON lines.
//
// [Start] serves a plugin inside the calling process, for tests.
package serve
