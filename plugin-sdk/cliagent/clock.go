package cliagent

import "time"

// clock is a deadline in which the time does not count that the agent had to wait for others. It belongs
// to one goroutine.
type clock struct {
	limit  time.Duration
	held   func() time.Duration // so far, in all
	since  time.Time            // when it was started
	before time.Duration        // held by then
	timer  *time.Timer
	rings  <-chan time.Time
}

// newClock starts a clock; one with limit 0 never rings.
func newClock(limit time.Duration, held func() time.Duration) *clock {
	c := &clock{limit: limit, held: held}
	if held == nil {
		c.held = func() time.Duration { return 0 }
	}
	c.start()
	return c
}

// start begins anew.
func (c *clock) start() {
	if c.limit <= 0 {
		return
	}
	c.stop()
	c.since, c.before = time.Now(), c.held()
	c.ring(c.limit)
}

// over is asked when the clock rang: whether the limit has passed, without the time held. If not, the
// clock rings again when it may have.
func (c *clock) over() bool {
	left := c.limit - (time.Since(c.since) - (c.held() - c.before))
	if left <= 0 {
		return true
	}
	c.ring(left)
	return false
}

func (c *clock) ring(after time.Duration) {
	c.timer = time.NewTimer(after)
	c.rings = c.timer.C
}

func (c *clock) stop() {
	if c.timer != nil {
		c.timer.Stop()
	}
}
