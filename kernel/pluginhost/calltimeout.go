package pluginhost

import (
	"context"
	"sync"
	"time"
)

// WithCallTimeout returns a context that is cancelled with cause after limit, not counting pauses (see
// [PauseCallTimeout]). The caller calls cancel when the call has returned. The context reports no deadline,
// since pauses move it.
func WithCallTimeout(ctx context.Context, limit time.Duration, cause error) (_ context.Context, cancel context.CancelFunc) {
	ctx, cancelCause := context.WithCancelCause(ctx)
	c := &callClock{remaining: limit, expire: func() { cancelCause(cause) }}
	c.resume()
	return context.WithValue(ctx, callClockKey{}, c), func() {
		c.pause()
		cancelCause(context.Canceled)
	}
}

// PauseCallTimeout stops the time limit of the call that ctx belongs to until resume is called. It does
// nothing for a context without [WithCallTimeout]. Overlapping pauses count once.
func PauseCallTimeout(ctx context.Context) (resume func()) {
	c, ok := ctx.Value(callClockKey{}).(*callClock)
	if !ok {
		return func() {}
	}
	c.pause()
	return sync.OnceFunc(c.resume)
}

type callClockKey struct{}

// callClock is a timer that can be paused.
type callClock struct {
	expire func()

	mu        sync.Mutex // guards:
	pauses    int        // in progress
	remaining time.Duration
	since     time.Time
	timer     *time.Timer
}

func (c *callClock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pauses++
	if c.pauses == 1 && c.timer != nil && c.timer.Stop() {
		c.remaining -= time.Since(c.since)
	}
}

func (c *callClock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pauses = max(0, c.pauses-1)
	if c.pauses == 0 {
		c.since = time.Now()
		c.timer = time.AfterFunc(c.remaining, c.expire)
	}
}
