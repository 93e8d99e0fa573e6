package cliagent

import (
	"context"
	"time"
)

// watch waits until the process ends by itself or there is a reason to end it. After the agent's last
// word, and once the sign holds, nothing but the linger time counts: a result that is there is not lost
// to a deadline.
func (p *process) watch(ctx context.Context, limits Command) Cut {
	total := newClock(limits.Timeout, limits.Held)
	defer total.stop()
	idle := newClock(limits.IdleTimeout, limits.Held)
	defer idle.stop()
	looks, stopLooks := limits.Done.looks()
	defer stopLooks()
	for heard := time.Now(); ; {
		select {
		case <-p.exited:
			return CutNone
		case <-p.final:
			return p.linger(ctx, limits.linger(), CutLinger)
		case <-ctx.Done():
			return CutCanceled
		case <-total.rings:
			if total.over() {
				return limits.Done.unless(time.Since(heard), CutTimeout)
			}
		case <-idle.rings:
			if idle.over() {
				return limits.Done.unless(time.Since(heard), CutIdle)
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

// linger leaves the process alone for the limit and says why it has to go then.
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
