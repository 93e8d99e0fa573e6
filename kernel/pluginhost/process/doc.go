// Package process starts one plugin process, watches it and ends it with its descendants.
//
// A [Process] is go-plugin's runner.Runner with more guarantees than the library's. The process leads a group that
// ends with it, and ends when the kernel ends. It ends within a time limit even if it is stopped or a grandchild holds
// its pipes. The end of its stderr is kept for errors. [Spawner] forks all processes from one thread, because Linux
// binds the parent-death signal to the thread. [Table.Sweep] finds the survivors of a killed kernel by the run marker
// ([Marker]) in their environment, or by their tag.
//
// The package keeps the handshake line but does not judge it. Systems other than Linux have fewer
// guarantees, see system_other.go.
package process
