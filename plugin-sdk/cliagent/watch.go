package cliagent

import (
	"context"
	"time"
)

// watch waits until the process ends or there is a reason to end it. After the agent's final
// message, or once [Completion.Reached] returned true, only the linger time counts, so that no
// deadline discards a complete result.
func (p *process) watch(ctx context.Context, limits Command) StopReason {
	total := newClock(limits.Timeout, limits.WaitingTime)
	defer total.stop()
	idle := newClock(limits.IdleTimeout, limits.WaitingTime)
	defer idle.stop()
	looks, stopLooks := limits.Done.ticks()
	defer stopLooks()
	for received := time.Now(); ; {
		select {
		case <-p.exited:
			return StopNone
		case <-p.final:
			return p.linger(ctx, limits.linger(), StopLinger)
		case <-ctx.Done():
			return StopCanceled
		case <-total.fires:
			if total.over() {
				return limits.Done.stopReason(time.Since(received), StopTimeout)
			}
		case <-idle.fires:
			if idle.over() {
				return limits.Done.stopReason(time.Since(received), StopIdle)
			}
		case <-looks:
			if limits.Done.Reached(time.Since(received)) {
				return p.linger(ctx, limits.Done.Linger, StopDone)
			}
		case <-p.active:
			received = time.Now()
			idle.start()
		}
	}
}

// linger waits for the process to end and returns [StopNone]. After limit, or at the end of ctx, it
// returns the reason why.
func (p *process) linger(ctx context.Context, limit time.Duration, why StopReason) StopReason {
	over := time.NewTimer(limit)
	defer over.Stop()
	select {
	case <-p.exited:
		return StopNone
	case <-over.C:
	case <-ctx.Done():
	}
	return why
}
