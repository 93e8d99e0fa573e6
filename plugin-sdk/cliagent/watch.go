package cliagent

import (
	"context"
	"time"
)

// watch waits until the process ends or there is a reason to end it. After the agent's final
// message, or once the sign holds, only the linger time counts, so that no deadline discards a
// complete result.
func (p *process) watch(ctx context.Context, limits Command) Cut {
	total := newClock(limits.Timeout, limits.Held)
	defer total.stop()
	idle := newClock(limits.IdleTimeout, limits.Held)
	defer idle.stop()
	looks, stopLooks := limits.Done.ticks()
	defer stopLooks()
	for heard := time.Now(); ; {
		select {
		case <-p.exited:
			return CutNone
		case <-p.final:
			return p.linger(ctx, limits.linger(), CutLinger)
		case <-ctx.Done():
			return CutCanceled
		case <-total.fires:
			if total.over() {
				return limits.Done.doneOr(time.Since(heard), CutTimeout)
			}
		case <-idle.fires:
			if idle.over() {
				return limits.Done.doneOr(time.Since(heard), CutIdle)
			}
		case <-looks:
			if limits.Done.Holds(time.Since(heard)) {
				return p.linger(ctx, limits.Done.Linger, CutDone)
			}
		case <-p.active:
			heard = time.Now()
			idle.start()
		}
	}
}

// linger waits for the process to end within limit; otherwise it returns reason.
func (p *process) linger(ctx context.Context, limit time.Duration, why Cut) Cut {
	over := time.NewTimer(limit)
	defer over.Stop()
	select {
	case <-p.exited:
		return CutNone
	case <-over.C:
	case <-ctx.Done():
	}
	return why
}
