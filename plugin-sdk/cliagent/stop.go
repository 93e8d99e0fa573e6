package cliagent

import (
	"syscall"
	"time"
)

const (
	// sweepGrace is what processes get between SIGTERM and SIGKILL that outlived the agent itself.
	sweepGrace = time.Second
	// killWait is how long a killed process may take to disappear.
	killWait = 5 * time.Second
	// clearLooks is how often in a row nobody may be seen before nobody is left: what begins while one looks is not seen.
	clearLooks = 3
)

// part lets those who talk with the agent take their leave, for half of the grace, and returns what is left of it.
func (p *process) part(c Command, grace time.Duration) time.Duration {
	close(p.halt)
	if c.Talk == nil {
		return grace
	}
	begin := time.Now()
	late := time.NewTimer(grace / 2)
	defer late.Stop()
	select {
	case <-p.talked:
	case <-p.exited:
	case <-late.C:
	}
	return max(grace-time.Since(begin), 0)
}

// stop ends the process: politely, because an agent that gets SIGTERM ends its tools, and after the
// grace by force. It reports whether force was needed. Descendants are noted before each signal, for
// once their parent is dead nobody knows whose children they were; with group they get the polite
// signal, too.
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

// sweep ends what the agent left behind and returns how many processes could not be ended.
func (p *process) sweep() int {
	if left := p.family.signal(syscall.SIGTERM); left == 0 {
		return 0
	}
	if p.family.wait(sweepGrace, 0) == 0 {
		return 0
	}
	return p.family.wait(killWait, syscall.SIGKILL)
}

// wait looks until nobody is left or the time is over, each time sending sig unless it is 0, so that
// children made meanwhile are caught too. It returns how many are left.
func (f *family) wait(limit time.Duration, sig syscall.Signal) int {
	pause := 5 * time.Millisecond
	for end, empty := time.Now().Add(limit), 0; ; {
		left := f.signal(sig)
		if empty++; left > 0 {
			empty = 0
		}
		if empty == clearLooks || !time.Now().Before(end) {
			return left
		}
		<-time.After(pause)
		pause = min(2*pause, 100*time.Millisecond)
	}
}
