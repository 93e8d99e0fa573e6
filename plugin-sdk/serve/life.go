package serve

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// life ends the process when its kernel does.
type life struct {
	server  *server
	signals chan os.Signal
	watch   sync.WaitGroup
	stdin   sync.WaitGroup // never waited for: a blocking read of stdin ends with the process
	dying   sync.Once
}

// watchHost begins to watch for the kernel's end: end of file on stdin, of which the kernel holds the
// write end, or SIGTERM.
func watchHost(s *server) *life {
	l := &life{server: s, signals: make(chan os.Signal, 1)}
	signal.Notify(l.signals, syscall.SIGTERM)
	l.watch.Go(func() {
		if _, ok := <-l.signals; ok {
			l.die(errors.New("the plugin was told to end (SIGTERM)"))
		}
	})
	if isPipe(os.Stdin) {
		l.stdin.Go(func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			l.die(errors.New("the kernel is gone"))
		})
	}
	return l
}

// end stops watching after a goodbye in good order.
func (l *life) end() {
	signal.Stop(l.signals)
	close(l.signals)
	l.watch.Wait()
}

// die cancels every call, waits for the components a little, and ends the process with all of its
// group. It does not return.
func (l *life) die(cause error) {
	l.dying.Do(func() {
		l.server.calls.end(cause, l.server.grace)
		killGroup()
		os.Exit(exitBroken)
	})
}

// killGroup ends the process group if it is the plugin's own, as it is under the kernel. A group that
// somebody else leads (a shell, a test) is left alone.
func killGroup() {
	if pid := os.Getpid(); syscall.Getpgrp() == pid {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

// isPipe tells the kernel's pipe from a terminal or /dev/null, which say nothing about anybody's life.
func isPipe(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}
