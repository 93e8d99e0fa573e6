package confine

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refused are the system calls that no sandbox allows. With them a process could inspect other processes,
// change its view of the system, leave the sandbox, or reach rarely used parts of the kernel.
var refused = []uint32{
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
	unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOUNT_SETATTR,
	unix.SYS_SETNS, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_BPF,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
}

// absent are the system calls that fail as on a kernel without them, so that programs use older calls. The filter
// cannot see the arguments of clone3 and the rings of io_uring.
var absent = []uint32{unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}

// These constants are offsets in struct seccomp_data. Both architectures store an argument's low half first.
const (
	numberAt = 0
	archAt   = 4
)

func argument(n uint32) bpf.Instruction { return bpf.LoadAbsolute{Off: 16 + 8*n, Size: 4} }

var allowCall = bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}

func refuseCall(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

// filter returns the program that decides about each system call.
func filter(n Network, noUnix bool) []bpf.Instruction {
	p := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archAt, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		bpf.LoadAbsolute{Off: numberAt, Size: 4},
	}
	if foreignBit != 0 {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: foreignBit, SkipTrue: 1}, refuseCall(unix.ENOSYS))
	}
	for _, nr := range refused {
		p = append(p, forSyscall(nr, refuseCall(unix.EPERM))...)
	}
	for _, nr := range absent {
		p = append(p, forSyscall(nr, refuseCall(unix.ENOSYS))...)
	}
	for _, nr := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
		p = append(p, forSyscall(nr, argument(0),
			bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: unix.CLONE_NEWUSER, SkipFalse: 1}, refuseCall(unix.EPERM), allowCall)...)
	}
	// A process may neither write a terminal's input nor set another process's limits.
	p = append(p, forSyscall(unix.SYS_IOCTL, append([]bpf.Instruction{argument(1)}, anyOf(refuseCall(unix.EPERM), allowCall, unix.TIOCSTI, unix.TIOCLINUX)...)...)...)
	p = append(p, forSyscall(unix.SYS_PRLIMIT64, append([]bpf.Instruction{argument(0)}, anyOf(allowCall, refuseCall(unix.EPERM), 0)...)...)...)
	return append(append(p, sockets(n, noUnix)...), allowCall)
}

// sockets returns the instructions for the calls that create and connect sockets. Without network a process can only
// accept connections: it cannot connect, nor create connectionless sockets, which could send to sockets outside.
// With noUnix it creates Unix sockets only in connected pairs.
func sockets(n Network, noUnix bool) []bpf.Instruction {
	noFamily := refuseCall(unix.EAFNOSUPPORT)
	families := []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	if !noUnix {
		families = append(families, unix.AF_UNIX)
	}
	open := forSyscall(unix.SYS_SOCKET, append([]bpf.Instruction{argument(0)}, anyOf(allowCall, noFamily, families...)...)...)
	if n != Off && !noUnix {
		return open
	}
	local := []bpf.Instruction{
		argument(0),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.AF_UNIX, SkipTrue: 1},
		noFamily,
		argument(1),
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xf}, // SOCK_TYPE_MASK: without SOCK_CLOEXEC and SOCK_NONBLOCK
	}
	local = append(local, anyOf(allowCall, refuseCall(unix.EPROTONOSUPPORT), unix.SOCK_STREAM, unix.SOCK_SEQPACKET)...)
	pairs := forSyscall(unix.SYS_SOCKETPAIR, local...)
	if n != Off {
		return append(open, pairs...)
	}
	return slices.Concat(forSyscall(unix.SYS_SOCKET, local...), pairs, forSyscall(unix.SYS_CONNECT, refuseCall(unix.EPERM)))
}

// forSyscall returns the instructions for one system call. The number of the call must be loaded before them, and do
// must end in a return.
func forSyscall(nr uint32, do ...bpf.Instruction) []bpf.Instruction {
	return append([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpEqual, Val: nr, SkipFalse: uint8(len(do))}}, do...)
}

// anyOf returns instructions that execute then if the loaded value is one of values, and otherwise if not.
func anyOf(then, otherwise bpf.Instruction, values ...uint32) []bpf.Instruction {
	var p []bpf.Instruction
	for _, v := range values {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: 1}, then)
	}
	return append(p, otherwise)
}

// install puts the filter on the calling thread and its children. The thread must have
// no_new_privs.
func installFilter(p []bpf.Instruction) error {
	raw, err := bpf.Assemble(p)
	if err != nil {
		return fmt.Errorf("assemble the filter: %w", err)
	}
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return nil
}
