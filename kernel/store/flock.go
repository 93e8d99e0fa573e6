package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrFlocked says that another open file holds the lock.
var ErrFlocked = errors.New("the file is locked by another process")

// Flock polls, because a blocked flock cannot be cancelled. The pause doubles up to the longest pause.
const (
	firstFlockPause   = 200 * time.Microsecond
	longestFlockPause = 20 * time.Millisecond
)

// TryFlock takes the advisory whole-file lock on f, or returns an error that wraps [ErrFlocked]. A second call
// on the same open file succeeds. Closing f, or the end of the process, frees the lock.
func TryFlock(f *os.File) error {
	err := flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("lock %s: %w", f.Name(), ErrFlocked)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil
}

// Flock takes the lock on f as [TryFlock] does and waits for it until ctx ends. The error then wraps
// [ErrFlocked] and ctx's cause.
func Flock(ctx context.Context, f *os.File) error {
	pause := firstFlockPause
	for {
		err := TryFlock(f)
		if !errors.Is(err, ErrFlocked) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w: %w", err, context.Cause(ctx))
		case <-timer.C:
		}
		pause = min(2*pause, longestFlockPause)
	}
}

// Unflock frees the lock and leaves f open.
func Unflock(f *os.File) error {
	if err := flock(f, unix.LOCK_UN); err != nil {
		return fmt.Errorf("unlock %s: %w", f.Name(), err)
	}
	return nil
}

// flock calls flock(2) through the file's raw descriptor, so that the runtime keeps control of f.
func flock(f *os.File, how int) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	err = conn.Control(func(fd uintptr) {
		for {
			if result = unix.Flock(int(fd), how); !errors.Is(result, unix.EINTR) {
				return
			}
		}
	})
	return errors.Join(err, result)
}
