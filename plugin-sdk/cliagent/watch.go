package cliagent

import (
	"context"
	"time"
)

// watch waits until the process ends by itself or there is a reason to end it. After the agent's last
// word nothing but the linger time counts: a result that is there is not lost to a deadline.
func (p *process) watch(ctx context.Context, limits Command) Cut {
	total, stopTotal := after(limits.Timeout)
	defer stopTotal()
	idle, stopIdle := after(limits.IdleTimeout)
	defer func() { stopIdle() }()
	for {
		select {
		case <-p.exited:
			return CutNone
		case <-p.final:
			return p.linger(ctx, limits.linger())
		case <-ctx.Done():
			return CutCanceled
		case <-total:
			return CutTimeout
		case <-idle:
			return CutIdle
		case <-p.active:
			stopIdle()
			idle, stopIdle = after(limits.IdleTimeout)
		}
	}
}

func (p *process) linger(ctx context.Context, limit time.Duration) Cut {
	over, stop := after(limit)
	defer stop()
	select {
	case <-p.exited:
		return CutNone
	case <-over:
	case <-ctx.Done():
	}
	return CutLinger
}

// after is a timer that never fires for 0.
func after(d time.Duration) (<-chan time.Time, func()) {
	if d <= 0 {
		return nil, func() {}
	}
	t := time.NewTimer(d)
	return t.C, func() { t.Stop() }
}
