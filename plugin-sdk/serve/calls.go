package serve

import (
	"context"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/internal/commands"
)

// calls tracks the calls in flight, so that they can be cancelled and awaited together. The zero
// value is ready to use.
type calls struct {
	mu      sync.Mutex
	next    int
	cancels map[int]context.CancelCauseFunc
	ended   error // reason why no further call may begin
	running sync.WaitGroup
	groups  commands.Groups // of the commands that the calls run
}

// begin registers a call, which end cancels if it is still running. done removes the call. The error
// is the reason why no further call may begin.
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

// end cancels the running calls, refuses further calls, and waits up to grace for the running calls
// to finish. It reports whether all have finished.
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
		return false // the waiter remains until the last call or the process ends
	}
}
