//go:build linux

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// probes are the actions that a test tries inside a sandbox. The word before the colon is the class of a probe. A test
// lists the classes or probes that must succeed; all others must fail.
var probes = map[string]func(Targets) error{
	"may: write the workspace":           func(t Targets) error { return write(filepath.Join(t.Workspace, "written")) },
	"may: read what is granted":          func(t Targets) error { return read(filepath.Join(t.Readable, "granted")) },
	"may: write temporary files":         temporary,
	"may: read the password file":        func(Targets) error { return read("/etc/passwd") },
	"may: run a shell":                   func(Targets) error { return sh("test -r /usr && echo hello > /dev/null") },
	"may: make a pair of sockets":        func(Targets) error { return pair(unix.SOCK_STREAM) },
	"may: work in the workspace":         work,
	"may: listen on a unix socket":       listen,
	"may: be told of the parent's death": func(Targets) error { return parentsDeath },

	"file: write what may be read":  func(t Targets) error { return write(filepath.Join(t.Readable, "granted")) },
	"file: read a secret":           func(t Targets) error { return read(filepath.Join(t.Outside, "secret")) },
	"file: read a secret by a link": func(t Targets) error { return readByLink(t, filepath.Join(t.Outside, "secret")) },
	"file: read the home":           func(t Targets) error { return read(t.HomeFile) },
	"file: list a directory":        func(t Targets) error { _, err := os.ReadDir(t.Outside); return err },
	"file: overwrite":               func(t Targets) error { return write(filepath.Join(t.Outside, "victim")) },
	"file: truncate":                func(t Targets) error { return os.Truncate(filepath.Join(t.Outside, "victim"), 0) },
	"file: take away": func(t Targets) error {
		return os.Rename(filepath.Join(t.Outside, "moved"), filepath.Join(t.Workspace, "moved"))
	},
	"file: link into the workspace": func(t Targets) error {
		return relink(filepath.Join(t.Outside, "victim"), filepath.Join(t.Workspace, "linked"))
	},
	"file: make a directory":        func(t Targets) error { return os.Mkdir(filepath.Join(t.Outside, "made"), 0o700) },
	"file: remove":                  func(t Targets) error { return os.Remove(filepath.Join(t.Outside, "removed")) },
	"file: read a secret in sh":     func(t Targets) error { return sh("cat " + filepath.Join(t.Outside, "secret")) },
	"file: write in sh":             func(t Targets) error { return sh("echo x > " + filepath.Join(t.Outside, "by-sh")) },
	"file: read a secret in python": func(t Targets) error { return python("open(%q).read()", filepath.Join(t.Outside, "secret")) },
	"file: write in python": func(t Targets) error {
		return python("open(%q, 'w').write('x')", filepath.Join(t.Outside, "by-python"))
	},
	"process: signal the host":             func(t Targets) error { return syscall.Kill(t.HostPID, 0) },
	"process: signal the host in sh":       func(t Targets) error { return sh("kill -0 " + strconv.Itoa(t.HostPID)) },
	"process: read the host's memory":      peek,
	"process: read the host's environment": func(t Targets) error { return read(fmt.Sprintf("/proc/%d/environ", t.HostPID)) },
	"process: open the host's memory":      func(t Targets) error { return read0(fmt.Sprintf("/proc/%d/mem", t.HostPID)) },
	"process: trace the host":              trace,
	"process: limit the host":              func(t Targets) error { return unix.Prlimit(t.HostPID, unix.RLIMIT_CORE, nil, &unix.Rlimit{}) },

	"network: tcp":   func(t Targets) error { return dial("tcp", t.TCP) },
	"network: tcp6":  func(t Targets) error { return dial("tcp6", t.TCP6) },
	"network: mptcp": mptcp,
	"network: udp":   echo,
	"network: tcp in python": func(t Targets) error {
		return python("import socket; socket.create_connection(%q.rsplit(':', 1))", t.TCP)
	},
	"socket: by path": func(t Targets) error { return dial("unix", t.Unix) },
	"socket: by path in python": func(t Targets) error {
		return python("import socket; socket.socket(socket.AF_UNIX).connect(%q)", t.Unix)
	},
	"socket: abstract":           func(t Targets) error { return dial("unix", t.Abstract) },
	"socket: datagram":           func(t Targets) error { return send("unixgram", t.Datagram) },
	"socket: datagram by a pair": func(t Targets) error { return sendByPair(t.Datagram) },
	"system: user namespace":     userNamespace,
	"system: io_uring":           ring,
	"system: key ring": func(Targets) error {
		_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_PROCESS_KEYRING, true)
		return err
	},
	"system: userfaultfd":         func(Targets) error { return call(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|1) },
	"system: file handles":        handles,
	"system: packets":             func(Targets) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) },
	"root: keep capabilities":     capabilities,
	"root: mount":                 mount,
	"root: write kernel settings": func(Targets) error { return write0("/proc/sys/kernel/core_pattern") },
	"root: make a device":         func(t Targets) error { return device(filepath.Join(t.Workspace, "device")) },
	"root: read the shadow file":  func(Targets) error { return read("/etc/shadow") },
	"root: change the user":       func(Targets) error { return sh("setpriv --reuid 12345 --clear-groups true") },

	"mode: of a file outside":   func(t Targets) error { return os.Chmod(filepath.Join(t.Outside, "victim"), 0o644) },
	"mode: size of one outside": func(t Targets) error { _, err := os.Stat(filepath.Join(t.Outside, "victim")); return err },
}

func read(path string) error {
	_, err := os.ReadFile(path)
	return err
}

// parentsDeath is nil if the process gets SIGTERM when its parent dies. It is set before main, on the first thread,
// because this setting belongs to a thread.
var parentsDeath = func() error {
	var signal int32
	if err := unix.Prctl(unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&signal)), 0, 0, 0); err != nil {
		return err
	}
	if syscall.Signal(signal) != syscall.SIGTERM {
		return fmt.Errorf("signal %d of the parent's death on thread %d of %d", signal, unix.Gettid(), os.Getpid())
	}
	return nil
}()

// capabilities succeeds if the process has capabilities other than those for files. The bounding set counts only for
// root, because an ordinary user cannot reduce it.
func capabilities(Targets) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	const ofFiles = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		set, err := strconv.ParseUint(value, 16, 64)
		if strings.HasPrefix(name, "Cap") && err == nil && set&^ofFiles != 0 && (name != "CapBnd" || os.Getuid() == 0) {
			return nil
		}
	}
	return errors.New("none but those of files")
}

// read0 and write0 only open a file.
func read0(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

func write0(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return f.Close()
}

func write(path string) error { return os.WriteFile(path, []byte("written by the plugin"), 0o600) }

// work performs the usual file operations of agents.
func work(t Targets) error {
	dir := filepath.Join(t.Workspace, "work")
	return errors.Join(
		os.RemoveAll(dir), os.MkdirAll(filepath.Join(dir, "a"), 0o700), os.Mkdir(filepath.Join(dir, "b"), 0o700),
		write(filepath.Join(dir, "a/f")), os.Rename(filepath.Join(dir, "a/f"), filepath.Join(dir, "b/f")),
		os.Link(filepath.Join(dir, "b/f"), filepath.Join(dir, "a/g")), os.Symlink("g", filepath.Join(dir, "a/h")),
		os.Chmod(filepath.Join(dir, "a/g"), 0o644), os.Truncate(filepath.Join(dir, "a/g"), 3), read(filepath.Join(dir, "a/h")),
		os.WriteFile(filepath.Join(dir, "run"), []byte("#!/bin/sh\nexit 0\n"), 0o700), sh(filepath.Join(dir, "run")),
	)
}

func temporary(Targets) error {
	f, err := os.CreateTemp("", "written-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func mount(t Targets) error {
	dir := filepath.Join(t.Workspace, "mount")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := unix.Mount("none", dir, "tmpfs", 0, ""); err != nil {
		return err
	}
	return unix.Unmount(dir, 0)
}

func readByLink(t Targets, target string) error {
	link := filepath.Join(t.Workspace, "link-to-secret")
	_ = os.Remove(link)
	return errors.Join(os.Symlink(target, link), read(link))
}

func relink(from, to string) error {
	_ = os.Remove(to)
	return os.Link(from, to)
}

func sh(line string) error {
	out, err := exec.Command("/bin/sh", "-c", line).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

func python(format string, args ...any) error {
	out, err := exec.Command("python3", "-c", fmt.Sprintf(format, args...)).CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	return nil
}

func dial(network, address string) error {
	c, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	return c.Close()
}

func send(network, address string) error {
	c, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	_, err = c.Write([]byte("x"))
	return errors.Join(err, c.Close())
}

// echo waits for the answer: a datagram that is sent need not arrive.
func echo(t Targets) error {
	c, err := net.Dial("udp", t.UDP)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	_, err = c.Read(make([]byte, 1))
	return err
}

func listen(t Targets) error {
	path := filepath.Join(t.Workspace, "l")
	_ = os.Remove(path)
	l, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	return l.Close()
}

func socket(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func pair(kind int) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return errors.Join(unix.Close(fds[0]), unix.Close(fds[1]))
}

func sendByPair(address string) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	return unix.Sendto(fds[0], []byte("x"), 0, &unix.SockaddrUnix{Name: address})
}

func mptcp(t Targets) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_MPTCP)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	a, err := net.ResolveTCPAddr("tcp4", t.TCP)
	if err != nil {
		return err
	}
	return unix.Connect(fd, &unix.SockaddrInet4{Port: a.Port, Addr: [4]byte(a.IP.To4())})
}

func peek(t Targets) error {
	var word [8]byte
	local := []unix.Iovec{{Base: &word[0], Len: 8}}
	_, err := unix.ProcessVMReadv(t.HostPID, local, []unix.RemoteIovec{{Base: t.HostWord, Len: 8}}, 0)
	if err == nil && string(word[:]) != "hostword" {
		err = fmt.Errorf("read %q", word)
	}
	return err
}

// trace traces the host from a child, whose end releases the host.
func trace(t Targets) error {
	if says := child("trace", strconv.Itoa(t.HostPID)); says != "" {
		return errors.New(says)
	}
	return nil
}

func seize(pid int) error {
	return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid))
}

func userNamespace(Targets) error {
	c := exec.Command("/bin/true")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	return c.Run()
}

func ring(Targets) error {
	var params [120]byte // struct io_uring_params
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

// handles succeeds if the filter allows the call, which then fails with EINVAL for its invalid handle.
func handles(Targets) error {
	var none [8]byte
	err := call(unix.SYS_OPEN_BY_HANDLE_AT, uintptr(unix.AT_FDCWD&0xffffffff), uintptr(unsafe.Pointer(&none)))
	if errors.Is(err, unix.EINVAL) {
		return nil
	}
	return err
}

func device(path string) error {
	_ = os.Remove(path)
	return unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3)))
}

func call(nr uintptr, args ...uintptr) error {
	var a [3]uintptr
	copy(a[:], args)
	if _, _, errno := unix.Syscall(nr, a[0], a[1], a[2]); errno != 0 {
		return errno
	}
	return nil
}
