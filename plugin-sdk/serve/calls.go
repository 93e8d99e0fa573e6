package serve

import (
	"context"
	"sync"
	"time"
)

// calls knows every call in flight, so that they can be cancelled and waited for together. The zero
// value is ready.
type calls struct {
	mu      sync.Mutex
	next    int
	cancels map[int]context.CancelCauseFunc
	ended   error // why no call may begin any more
	running sync.WaitGroup
}

// begin enters a call, which end will cancel if it is still there; done leaves. The error says why
// no call begins any more.
func (c *calls) begin(cancel context.CancelCauseFunc) (done func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return nil, c.ended
	}
	id := c.next
	c.next++
	if c.cancels == nil {
		c.cancels = map[int]context.CancelCauseFunc{}
	}
	c.cancels[id] = cancel
	c.running.Add(1)
	return func() {
		c.mu.Lock()
		delete(c.cancels, id)
		c.mu.Unlock()
		c.running.Done()
	}, nil
}

// end cancels what runs, lets nothing begin any more, and waits for the calls to leave, at most for
// grace. It reports whether all of them left.
func (c *calls) end(cause error, grace time.Duration) bool {
	c.mu.Lock()
	if c.ended == nil {
		c.ended = cause
	}
	for _, cancel := range c.cancels {
		cancel(cause)
	}
	c.mu.Unlock()

	left := make(chan struct{})
	var waiter sync.WaitGroup
	waiter.Go(func() { c.running.Wait(); close(left) })
	select {
	case <-left:
		return true
	case <-time.After(grace):
		return false // the waiter stays until the stuck call ends, with the process at the latest
	}
}
