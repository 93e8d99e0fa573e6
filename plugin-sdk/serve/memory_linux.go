package serve

import "golang.org/x/sys/unix"

// DenyMemoryAccess stops other processes of the user from reading the memory, the environment and the open files of this
// process. Root with CAP_SYS_PTRACE still can; a sandbox takes that from what it confines. Programs that this process
// executes are not affected. It also disables core dumps. On systems other than Linux it does nothing.
func DenyMemoryAccess() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
