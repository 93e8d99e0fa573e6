package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrHeld says that another open file holds the lock.
var ErrHeld = errors.New("the file is locked by another process")

// Waiting is by polling, because a blocked flock cannot be cancelled. The pause doubles up to the
// longest one.
const (
	firstPause   = 200 * time.Microsecond
	longestPause = 20 * time.Millisecond
)

// Try takes the lock on f or returns an error wrapping [ErrHeld]. A second Try on the same open file
// succeeds. Closing f frees the lock.
func Try(f *os.File) error {
	err := control(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("lock %s: %w", f.Name(), ErrHeld)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
	return nil
}

// Acquire takes the lock on f, waiting for it until ctx ends. The error then wraps [ErrHeld] and
// ctx's cause.
func Acquire(ctx context.Context, f *os.File) error {
	pause := firstPause
	for {
		err := Try(f)
		if !errors.Is(err, ErrHeld) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("%w: %w", err, context.Cause(ctx))
		case <-timer.C:
		}
		pause = min(2*pause, longestPause)
	}
}

// Release frees the lock and leaves f open.
func Release(f *os.File) error {
	if err := control(f, unix.LOCK_UN); err != nil {
		return fmt.Errorf("unlock %s: %w", f.Name(), err)
	}
	return nil
}

// control calls flock through the file's raw descriptor, so that f stays in the runtime's care.
func control(f *os.File, how int) error {
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
