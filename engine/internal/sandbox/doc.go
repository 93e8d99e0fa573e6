// Package sandbox confines a process: the files that it reads and writes, the network that it reaches, and the
// resources that it uses.
//
// A [sandboxpolicy.Policy] is the input. [Sandbox.Check] reports whether this system can apply it and refuses with
// the reason and the remedy if it cannot; [Sandbox.Wrap] returns the command line to start instead of the program. In
// both modes that command starts this program again with the hidden verb [Verb]. The verb calls [Main], which
// restricts its own process and then executes the program. Every child inherits the restrictions.
//
//   - [sandboxpolicy.Workspace]: Landlock for files, abstract sockets and signals, a seccomp filter for the rest, and
//     rlimits. It needs no privilege and no other program.
//   - [sandboxpolicy.Strict]: bubblewrap around the seccomp filter, rlimits and, if available, Landlock for abstract
//     sockets and signals. The process sees only the listed files and its own process numbers, and everything that it
//     started ends with it.
//
// # What every sandbox may reach
//
// [Base] is the table: the system's programs and libraries, the pieces of /etc that programs cannot do without, /proc,
// five devices. The home directory is hidden. Under [sandboxpolicy.Workspace] git's settings in the home directory can
// be read, because git fails if it may not read an existing file. TMPDIR is a private directory of the process.
//
// # What is not covered
//
//   - Under [sandboxpolicy.Workspace] the names, sizes and modes of all files can be seen (stat), since Landlock checks
//     only the opening of files. Mode, owner, times and extended attributes of a file outside can be changed by a user
//     who has the right to, such as root. Under [sandboxpolicy.Strict] files outside do not exist.
//   - Under [sandboxpolicy.Workspace] the machine's processes and their arguments can be listed. The same user's
//     shared memory and message queues (System V) can be used. The priority and processors of that user's processes
//     can be changed. Under [sandboxpolicy.Strict] all this is limited to the inside of the sandbox.
//   - Under [sandboxpolicy.Workspace] with the network on, a process can connect to Unix sockets that have a path,
//     such as an ssh agent's socket. Landlock prevents this from ABI 9 on. Abstract sockets cannot be reached.
//   - With the network on, the whole network can be reached, including the machine's own services. Under
//     [sandboxpolicy.Strict] abstract sockets can be reached as well if Landlock is older than ABI 6.
//   - [sandboxpolicy.Policy.Memory] and CPU apply to each process, not to all together.
//   - Under [sandboxpolicy.Workspace] an ordinary user's [sandboxpolicy.Policy.Processes] is added to the number of the
//     user's tasks at the start; the limit applies to all tasks of the user.
//   - A process that leaves its group and clears its environment can survive under [sandboxpolicy.Workspace].
//   - Debuggers (ptrace), other sandboxes and programs of another architecture do not run inside a sandbox. No program
//     gains rights inside, as sudo does elsewhere.
package sandbox
