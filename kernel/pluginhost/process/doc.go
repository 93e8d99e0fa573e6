// Package process starts one plugin process, watches it and ends it with everything it started.
//
// A [Child] is go-plugin's runner.Runner with the promises that the library's own runner does not
// give: the process leads a process group that dies with it, dies itself when the kernel does, says
// on failure what it wrote to stderr, and is gone within a bound even when it is stopped or when a
// grandchild holds its pipes. [Spawner] is the one thread that forks, because Linux binds the
// parent-death signal to the thread. [Sweep] finds what a killed kernel left behind, by the run
// marker ([Marker]) that every plugin and all its children carry in their environment.
//
// The package knows nothing of the protocol: no handshake is judged here, only its line is kept.
// What an operating system cannot do is listed by [Limits].
package process
