package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// reapInterval is the pause between two searches for ended orphans. A parent that waits for its own child is expected
// to do so within this time.
const reapInterval = 5 * time.Second

// reapOrphans reaps adopted processes that have ended, until stop is closed; otherwise each would keep its number as a
// zombie while the host lives. A zombie counts if two searches find it and it is not in this process's own group. A
// program that embeds the host and puts a child into another group should wait for that child soon after its end.
func reapOrphans(stop <-chan struct{}) {
	look := time.NewTicker(reapInterval)
	defer look.Stop()
	seen := map[int]string{}
	for {
		select {
		case <-stop:
			return
		case <-look.C:
			seen = reapZombies(seen)
		}
	}
}

// reapZombies reaps the zombies that the previous search found, too. It returns the new ones with their start times.
func reapZombies(before map[int]string) map[int]string {
	now := zombies()
	for pid, start := range now {
		if before[pid] == start {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			delete(now, pid)
		}
	}
	return now
}

// zombies returns the dead children of this process in other groups than its own.
func zombies() map[int]string {
	found := map[int]string{}
	own := strconv.Itoa(syscall.Getpgrp())
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for word := range strings.FieldsSeq(string(text)) {
			pid, _ := strconv.Atoi(word)
			if fields, ok := store.StatFields(pid); ok && fields[stateField] == "Z" && fields[groupField] != own {
				found[pid] = fields[startField]
			}
		}
	}
	return found
}

// AdoptOrphans makes this process the parent of every descendant whose own parent ends, and reaps them after their
// end. Orphans of plugins do not move to init while the host lives. The setting belongs to the whole process; restore
// resets it.
func AdoptOrphans() (restore func(), err error) {
	var before int32
	if err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&before)), 0, 0, 0); err != nil {
		return nil, fmt.Errorf("read child subreaper: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("set child subreaper: %w", err)
	}
	stop := make(chan struct{})
	var burying sync.WaitGroup
	burying.Go(func() { reapOrphans(stop) })
	return func() {
		close(stop)
		burying.Wait()
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, uintptr(before), 0, 0, 0)
	}, nil
}
