package process

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// reapInterval is the time between two looks for orphans that have ended. Somebody who waits for a
// process of his own does so within it.
const reapInterval = 5 * time.Second

// reapOrphans reaps adopted processes that have ended, until stop is closed: nobody else would, and each
// would keep its number as a zombie for as long as the host lives. Zombies that it finds in two looks and
// that are not in this process's own group count as such; a program that embeds the host and puts a child
// of its own into another group should wait for it soon after its end.
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

// reapZombies reaps the zombies that were seen before and returns those that it sees now, with their start times.
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

// zombies are the dead children of this process in other groups than its own.
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
			if fields, ok := stat(pid); ok && fields[stateField] == "Z" && fields[groupField] != own {
				found[pid] = fields[startField]
			}
		}
	}
	return found
}
