package cliagent

import (
	"syscall"
	"time"
)

const (
	// sweepGrace is the time between SIGTERM and SIGKILL for processes that outlive the agent.
	sweepGrace = time.Second
	// killWait is the maximum wait for a killed process to disappear.
	killWait = 5 * time.Second
	// emptyScans is the number of successive scans without a process that prove that none is left:
	// a scan misses processes that start during it.
	emptyScans = 3
)

// endTalk requests the end of the conversation with the agent, waits at most half of the grace, and
// returns the rest of the grace.
func (p *process) endTalk(c Command, grace time.Duration) time.Duration {
	close(p.stopping)
	if c.Talk == nil {
		return grace
	}
	begin := time.Now()
	late := time.NewTimer(grace / 2)
	defer late.Stop()
	select {
	case <-p.stdinClosed:
	case <-p.exited:
	case <-late.C:
	}
	return max(grace-time.Since(begin), 0)
}

// stop ends the process: by SIGTERM, on which agents end their tools, and after the grace by
// SIGKILL. It reports whether SIGKILL was needed.
//
// Descendants are recorded before each signal, because a descendant whose parent has ended cannot
// be found by its parent. With group, descendants get SIGTERM as well.
func (p *process) stop(grace time.Duration, group bool) (killed bool) {
	if group {
		p.family.signal(syscall.SIGTERM)
	} else {
		p.family.note()
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
	late := time.NewTimer(grace)
	defer late.Stop()
	select {
	case <-p.exited:
		return false
	case <-late.C:
	}
	p.family.note()
	_ = p.cmd.Process.Kill()
	return true
}

// sweep ends the processes that the agent left running and returns the number of survivors.
func (p *process) sweep() int {
	for empty := 1; p.family.signal(syscall.SIGTERM) == 0; empty++ {
		if empty == emptyScans {
			return 0
		}
	}
	if p.family.wait(sweepGrace, 0) == 0 {
		return 0
	}
	return p.family.wait(killWait, syscall.SIGKILL)
}

// wait scans until no process is left or the limit has passed. It sends sig in each scan, unless
// sig is 0, to reach new children. It returns the number of processes left.
func (f *family) wait(limit time.Duration, sig syscall.Signal) int {
	pause := 5 * time.Millisecond
	for end, empty := time.Now().Add(limit), 0; ; {
		left := f.signal(sig)
		if empty++; left > 0 {
			empty = 0
		}
		if empty == emptyScans || !time.Now().Before(end) {
			return left
		}
		<-time.After(pause)
		pause = min(2*pause, 100*time.Millisecond)
	}
}
