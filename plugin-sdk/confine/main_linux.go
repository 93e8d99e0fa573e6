package confine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Supported reports whether a process of this architecture can be confined.
const Supported = auditArch != 0

const (
	busyTries = 3
	busyPause = 20 * time.Millisecond
)

// Main restricts the calling process as args[0] specifies, and then replaces it by the program with the remaining
// arguments. It returns 0 after a probe; if it fails, it writes the reason to stderr and returns the exit code. Then
// the caller must exit. Main must be the first call of a program.
func Main(args []string) int {
	// The restrictions apply to this thread only. It is the only thread that remains when the process executes the
	// program.
	runtime.LockOSThread()
	t := apply(args)
	if t == nil {
		_, _ = io.WriteString(os.Stdout, Probed+"\n")
		return 0
	}
	_, _ = io.WriteString(os.Stderr, t.Line())
	return ExitStartError
}

// apply returns nil at the end of a probe, and otherwise the reason why the program was not executed.
func apply(args []string) *StartError {
	if len(args) == 0 {
		return &StartError{Text: "there is no specification"}
	}
	o, err := parseSpec(args[0])
	if err == nil {
		err = o.confine()
	}
	if err != nil {
		return &StartError{Text: err.Error()}
	}
	if o.Exec == "" && o.Tools {
		if err := toolSpec(os.Environ()).confine(); err != nil {
			return &StartError{Text: "confine a tool: " + err.Error()}
		}
	}
	if o.Exec == "" {
		return nil
	}
	return execute(o.Exec, args[1:], slices.Concat(os.Environ(), o.Loader))
}

// confine applies the restrictions in an order in which none prevents a later one.
func (o Spec) confine() error {
	if err := o.enterNamespaces(); err != nil {
		return err
	}
	if o.Added {
		o.Processes += tasks(os.Getuid())
	}
	var ambient []uintptr
	if o.Tools {
		ambient = ToolCapabilities
	}
	if err := dropCapabilities(ambient...); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	// The signal of the parent's death was set for the first thread of the process, which need not be this thread.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0); err != nil {
		return fmt.Errorf("set the signal of the parent's death: %w", err)
	}
	if o.Landlock > 0 {
		if o.Files && o.Exec != "" {
			o.Read = append(o.Read, o.Exec)
		}
		if err := o.restrict(); err != nil {
			return err
		}
	}
	if o.Seccomp {
		if err := installFilter(filter(o.Network, o.NoUnix)); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
	}
	return o.limit()
}

// execute replaces the process by the program, and returns only if that fails. No descriptor but the first three is
// passed on.
func execute(path string, argv, env []string) *StartError {
	if len(argv) == 0 {
		return &StartError{Text: "there is no program"}
	}
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return &StartError{Text: "close_range: " + err.Error()}
	}
	var err error
	for try := 0; ; try++ {
		err = syscall.Exec(path, argv, env)
		if !errors.Is(err, syscall.ETXTBSY) || try == busyTries {
			break
		}
		<-time.After(busyPause)
	}
	t := &StartError{Text: argv[0] + ": " + err.Error(), Exec: true}
	_ = errors.As(err, &t.Errno)
	return t
}
