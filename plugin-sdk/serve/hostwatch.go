package serve

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// hostWatch ends the process when its kernel ends.
type hostWatch struct {
	server  *server
	signals chan os.Signal
	watch   sync.WaitGroup
	stdin   sync.WaitGroup // never awaited: a blocking read of stdin ends with the process
	dying   sync.Once
}

// watchHost starts to watch for the kernel's end: SIGTERM, or end of file on stdin, whose write end
// the kernel holds.
func watchHost(s *server) *hostWatch {
	l := &hostWatch{server: s, signals: make(chan os.Signal, 1)}
	signal.Notify(l.signals, syscall.SIGTERM)
	l.watch.Go(func() {
		if _, ok := <-l.signals; ok {
			l.die(errors.New("the plugin received SIGTERM"))
		}
	})
	if isPipe(os.Stdin) {
		l.stdin.Go(func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			l.die(errors.New("the kernel has ended"))
		})
	}
	return l
}

// end stops watching after an orderly shutdown.
func (l *hostWatch) end() {
	signal.Stop(l.signals)
	close(l.signals)
	l.watch.Wait()
}

// die cancels every call, waits up to the grace, and kills the groups of commands that still run and the plugin's own.
// It does not return.
func (l *hostWatch) die(cause error) {
	l.dying.Do(func() {
		l.server.calls.end(cause, l.server.grace)
		l.server.calls.groups.Kill()
		killGroup()
		os.Exit(exitInvalid)
	})
}

// killGroup kills the process group if the plugin leads it, as it does under the kernel. It does
// nothing if another process leads the group, such as a shell or a test.
func killGroup() {
	if pid := os.Getpid(); syscall.Getpgrp() == pid {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// isPipe reports whether f is a pipe or a socket, as from the kernel. End of file on a terminal or
// /dev/null has no meaning.
func isPipe(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}
