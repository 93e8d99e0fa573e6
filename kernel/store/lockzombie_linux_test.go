package store_test

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// A killed kernel that its parent has not reaped yet is dead.
func TestZombieHolder(t *testing.T) {
	p := project(t)
	c := newChild(t, p).hold()
	check(t, c.cmd.Process.Kill())
	var err error = unix.EINTR
	for errors.Is(err, unix.EINTR) {
		err = unix.Waitid(unix.P_PID, c.pid(), nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
	check(t, err)
	_, stale := acquire(t, p, store.LockOptions{}).StaleLock()
	require(t, stale, "no stale lock reported")
}
