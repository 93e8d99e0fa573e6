package cliagent

import "time"

// clock is a deadline that excludes the time in which the agent waits for others. It is not safe
// for concurrent use.
type clock struct {
	limit        time.Duration
	waited       func() time.Duration // total waiting time so far
	since        time.Time            // start time
	waitedBefore time.Duration        // waiting time at start
	timer        *time.Timer
	fires        <-chan time.Time
}

// newClock returns a started clock. A clock with limit 0 never fires.
func newClock(limit time.Duration, held func() time.Duration) *clock {
	c := &clock{limit: limit, waited: held}
	if held == nil {
		c.waited = func() time.Duration { return 0 }
	}
	c.start()
	return c
}

// start restarts the clock.
func (c *clock) start() {
	if c.limit <= 0 {
		return
	}
	c.stop()
	c.since, c.waitedBefore = time.Now(), c.waited()
	c.set(c.limit)
}

// over reports whether the limit has passed, without the waiting time. It is called when the clock
// fires, and sets the clock again if time is left.
func (c *clock) over() bool {
	left := c.limit - (time.Since(c.since) - (c.waited() - c.waitedBefore))
	if left <= 0 {
		return true
	}
	c.set(left)
	return false
}

func (c *clock) set(after time.Duration) {
	c.timer = time.NewTimer(after)
	c.fires = c.timer.C
}

func (c *clock) stop() {
	if c.timer != nil {
		c.timer.Stop()
	}
}
