// Package sandbox confines a process: what it reads and writes, whom it reaches, how much it takes.
//
// A [sandboxpolicy.Policy] is the input. [Sandbox.Check] reports whether this system can apply it and refuses with
// the reason and the remedy if it cannot; [Sandbox.Wrap] returns the command line to start instead of the program. In
// both modes that starts this program again: its hidden verb [Verb] calls [Main], which restricts itself and then
// executes the program, so that nothing of the host's is left and every child inherits the restrictions.
//
//   - [sandboxpolicy.Workspace]: Landlock for files, abstract sockets and signals, a seccomp filter for the rest, and
//     rlimits. It needs no privilege and no program.
//   - [sandboxpolicy.Strict]: bubblewrap around the same. The process sees nothing but what is listed, has its own process
//     numbers, and everything that it started ends with it.
//
// # What every box may reach
//
// [Base] is the table: the system's programs and libraries, the pieces of /etc that programs cannot do
// without, /proc, five devices. The home directory is hidden, but under [sandboxpolicy.Workspace] git's own settings in
// it can be read, because git dies where it finds a file that it may not read. TMPDIR is a directory of
// the process's own.
//
// # What is not covered
//
//   - Under [sandboxpolicy.Workspace] the names, sizes and modes of all files can be seen (stat), since Landlock judges
//     only what is opened. Mode, owner, times and extended attributes of a file outside can be changed as far
//     as the user may do so, which is far for root. Under [sandboxpolicy.Strict] there is no such file.
//   - Under [sandboxpolicy.Workspace] the list of the machine's processes with their arguments can be read, and shared
//     memory and message queues (System V) of the same user be used, and the priority and processors of the
//     same user's processes be changed. Under [sandboxpolicy.Strict] all are the box's own.
//   - Under [sandboxpolicy.Workspace] with the network on, Unix sockets that have a path can be connected to (that of a
//     container engine, of an ssh agent) unless the kernel's Landlock has ABI 9. Abstract ones cannot.
//   - With the network on, all of it can be reached, the machine's own services too. Under [sandboxpolicy.Strict] these are also
//     abstract sockets where Landlock is older than ABI 6.
//   - [sandboxpolicy.Policy.Memory] and CPU apply to each process, not to all together.
//   - Under [sandboxpolicy.Workspace] an ordinary user's [sandboxpolicy.Policy.Processes] is counted together with all tasks of the user:
//     the running ones at the start and as many more.
//   - A process that leaves its group and clears its environment can survive under [sandboxpolicy.Workspace].
//   - No debugger runs inside (ptrace), no other sandbox, no program of another architecture, and no program gains
//     rights there (sudo, ping where it needs them).
package sandbox
