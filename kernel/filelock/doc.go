// Package filelock holds the advisory whole-file lock (flock) by which processes agree on who
// writes: the kernels of a session, the appenders of a journal, the Bash engine.
//
// The kernel of the operating system frees such a lock when the process ends, however it ends. An
// open file is locked, not a path, so callers decide how a file is opened and whether the path still
// leads to it. [Acquire] waits, [Try] does not.
package filelock
