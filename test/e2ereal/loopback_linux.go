package e2ereal

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// insideVariable is set in the environment of a process that Isolated started.
const insideVariable = "E2E_INSIDE"

// Inside reports whether this process runs in a network namespace made by [Isolated].
func Inside() bool { return os.Getenv(insideVariable) != "" }

// Isolated runs this program again with args and the same standard streams and returns its exit code. The program
// gets its own network namespace, which has only the loopback interface. For a user other than root it also gets a
// user namespace, in which the user seems to be root. An error means that the program could not run; if the system
// permits no namespace, its text names the alternative.
func Isolated(args ...string) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), insideVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		asRoot(cmd.SysProcAttr)
	}
	runtime.LockOSThread() // the child gets a signal when the thread that started it ends
	defer runtime.UnlockOSThread()
	// Ctrl-C reaches the child directly. This process ignores it and ends after the child.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("make a network namespace: %w; allow user namespaces, or set %s=%s to run without the check that nothing leaves the loopback interface",
			err, NetworkVariable, NetworkHost)
	}
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	return cmd.ProcessState.ExitCode(), nil
}

func asRoot(attr *syscall.SysProcAttr) {
	attr.Cloneflags |= syscall.CLONE_NEWUSER
	attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
}

// LoopbackUp switches the loopback interface on. In a new namespace the interface is off.
func LoopbackUp() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("switch the loopback interface on: %w", err)
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("switch the loopback interface on: %w", err)
	}
	return nil
}
