package confine

import (
	"encoding/binary"
	"errors"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// verdict runs the filter on a system call and returns its answer: nil, an error number, or errKilled.
func verdict(t *testing.T, program []bpf.Instruction, arch, nr uint32, args ...uint32) error {
	t.Helper()
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	call := make([]byte, 64) // struct seccomp_data; the VM reads words in network order
	binary.BigEndian.PutUint32(call[numberAt:], nr)
	binary.BigEndian.PutUint32(call[archAt:], arch)
	for i, a := range args {
		binary.BigEndian.PutUint32(call[16+8*i:], a)
	}
	got, err := vm.Run(call)
	if err != nil {
		t.Fatal(err)
	}
	switch answer := uint32(got); {
	case answer == unix.SECCOMP_RET_ALLOW:
		return nil
	case answer == unix.SECCOMP_RET_KILL_PROCESS:
		return errKilled
	case answer&^0xffff == unix.SECCOMP_RET_ERRNO:
		return unix.Errno(answer & 0xffff)
	default:
		t.Fatalf("answer %#x", answer)
		return nil
	}
}

var errKilled = errors.New("killed")

func TestFilter(t *testing.T) {
	for _, tt := range []struct {
		name string
		only Network // "" for every network
		arch uint32
		nr   uint32
		args []uint32
		want error
	}{
		{"read", "", auditArch, unix.SYS_READ, nil, nil},
		{"execve", "", auditArch, unix.SYS_EXECVE, nil, nil},
		{"accept", "", auditArch, unix.SYS_ACCEPT4, nil, nil},
		{"bind", "", auditArch, unix.SYS_BIND, nil, nil},
		{"another architecture", "", unix.AUDIT_ARCH_I386, unix.SYS_READ, nil, errKilled},
		{"ptrace", "", auditArch, unix.SYS_PTRACE, nil, unix.EPERM},
		{"mount", "", auditArch, unix.SYS_MOUNT, nil, unix.EPERM},
		{"setns", "", auditArch, unix.SYS_SETNS, nil, unix.EPERM},
		{"the last refused", "", auditArch, refused[len(refused)-1], nil, unix.EPERM},
		{"io_uring", "", auditArch, unix.SYS_IO_URING_SETUP, nil, unix.ENOSYS},
		{"clone3", "", auditArch, unix.SYS_CLONE3, nil, unix.ENOSYS},
		{"a thread", "", auditArch, unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, nil},
		{"clone a user namespace", "", auditArch, unix.SYS_CLONE, []uint32{unix.CLONE_NEWUSER | unix.CLONE_NEWNS}, unix.EPERM},
		{"unshare files", "", auditArch, unix.SYS_UNSHARE, []uint32{unix.CLONE_FILES}, nil},
		{"unshare a user namespace", "", auditArch, unix.SYS_UNSHARE, []uint32{unix.CLONE_NEWUSER}, unix.EPERM},
		{"ask a terminal", "", auditArch, unix.SYS_IOCTL, []uint32{0, unix.TCGETS}, nil},
		{"type on a terminal", "", auditArch, unix.SYS_IOCTL, []uint32{0, unix.TIOCSTI}, unix.EPERM},
		{"type on a console", "", auditArch, unix.SYS_IOCTL, []uint32{0, unix.TIOCLINUX}, unix.EPERM},
		{"own limits", "", auditArch, unix.SYS_PRLIMIT64, []uint32{0, 7}, nil},
		{"another's limits", "", auditArch, unix.SYS_PRLIMIT64, []uint32{412, 7}, unix.EPERM},

		{"unix stream", "", auditArch, unix.SYS_SOCKET, []uint32{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK}, nil},
		{"unix packets", Off, auditArch, unix.SYS_SOCKET, []uint32{unix.AF_UNIX, unix.SOCK_SEQPACKET}, nil},
		{"unix datagrams", Off, auditArch, unix.SYS_SOCKET, []uint32{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC}, unix.EPROTONOSUPPORT},
		{"unix datagrams by another name", Off, auditArch, unix.SYS_SOCKET, []uint32{unix.AF_UNIX, unix.SOCK_RAW}, unix.EPROTONOSUPPORT},
		{"a pair", Off, auditArch, unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_STREAM}, nil},
		{"a pair of datagrams", Off, auditArch, unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_DGRAM}, unix.EPROTONOSUPPORT},
		{"tcp", Off, auditArch, unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM}, unix.EAFNOSUPPORT},
		{"udp", Off, auditArch, unix.SYS_SOCKET, []uint32{unix.AF_INET6, unix.SOCK_DGRAM}, unix.EAFNOSUPPORT},
		{"mptcp", Off, auditArch, unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, unix.EAFNOSUPPORT},
		{"netlink", Off, auditArch, unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW}, unix.EAFNOSUPPORT},
		{"connect", Off, auditArch, unix.SYS_CONNECT, []uint32{3}, unix.EPERM},

		{"tcp", On, auditArch, unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM}, nil},
		{"udp", Loopback, auditArch, unix.SYS_SOCKET, []uint32{unix.AF_INET6, unix.SOCK_DGRAM}, nil},
		{"netlink", On, auditArch, unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW}, nil},
		{"packets", On, auditArch, unix.SYS_SOCKET, []uint32{unix.AF_PACKET, unix.SOCK_RAW}, unix.EAFNOSUPPORT},
		{"the hypervisor", On, auditArch, unix.SYS_SOCKET, []uint32{unix.AF_VSOCK, unix.SOCK_STREAM}, unix.EAFNOSUPPORT},
		{"connect", On, auditArch, unix.SYS_CONNECT, []uint32{3}, nil},
		{"connect", Loopback, auditArch, unix.SYS_CONNECT, []uint32{3}, nil},
	} {
		for _, n := range []Network{On, Off, Loopback} {
			if tt.only != "" && tt.only != n {
				continue
			}
			t.Run(tt.name+" "+string(n), func(t *testing.T) {
				if got := verdict(t, filter(n, false), tt.arch, tt.nr, tt.args...); !errors.Is(got, tt.want) {
					t.Errorf("answer %v, want %v", got, tt.want)
				}
			})
		}
	}
}

// A filter without Unix sockets allows connected pairs and the network.
func TestFilterWithoutUnixSockets(t *testing.T) {
	for _, tt := range []struct {
		nr   uint32
		args []uint32
		want error
	}{
		{unix.SYS_SOCKET, []uint32{unix.AF_UNIX, unix.SOCK_STREAM}, unix.EAFNOSUPPORT},
		{unix.SYS_SOCKET, []uint32{unix.AF_UNIX, unix.SOCK_DGRAM}, unix.EAFNOSUPPORT},
		{unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_STREAM}, nil},
		{unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_DGRAM}, unix.EPROTONOSUPPORT},
		{unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM}, nil},
		{unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, unix.SOCK_RAW}, nil},
		{unix.SYS_SOCKET, []uint32{unix.AF_PACKET, unix.SOCK_RAW}, unix.EAFNOSUPPORT},
		{unix.SYS_CONNECT, []uint32{3}, nil},
		{unix.SYS_READ, nil, nil},
	} {
		if got := verdict(t, filter(Loopback, true), auditArch, tt.nr, tt.args...); !errors.Is(got, tt.want) {
			t.Errorf("call %d %v: %v, want %v", tt.nr, tt.args, got, tt.want)
		}
	}
}

// All calls of an architecture's other ABI are refused, because their numbers mean other calls.
func TestFilterOfAnotherABI(t *testing.T) {
	if foreignBit == 0 {
		t.Log("this architecture has no other ABI")
		return
	}
	for _, nr := range []uint32{unix.SYS_READ, unix.SYS_SOCKET, 512} {
		if got := verdict(t, filter(On, false), auditArch, nr|foreignBit); !errors.Is(got, unix.ENOSYS) {
			t.Errorf("call %d: %v", nr, got)
		}
	}
}
