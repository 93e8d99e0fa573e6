package cliagent

import "time"

// DefaultLook is how often a [Sign] is looked for.
const DefaultLook = 15 * time.Second

// leastLook keeps a small Every from keeping a processor busy.
const leastLook = 10 * time.Millisecond

// Sign says by other means than the agent's output that its work is over: agents have been seen to stay
// for good after they had written everything. An agent that goes on running is ended then, and that is
// no failure ([CutDone]).
type Sign struct {
	// Holds reports whether the work is over. Silence is how long neither stdout nor stderr had a byte.
	// It is never called concurrently, not after it said true, and once more when a deadline is over:
	// work that is done is not lost to it. It should return at once, because deadlines wait meanwhile.
	Holds func(silence time.Duration) bool
	// Every is the time between two looks. Default [DefaultLook].
	Every time.Duration
	// Linger is how long the process may stay once the sign holds, to end by itself. 0 is not at all.
	Linger time.Duration
	// Grace is the time between SIGTERM and SIGKILL then. Default [Command.Grace].
	Grace time.Duration
}

// looks ticks whenever the sign is to be looked for, never for no sign.
func (s *Sign) looks() (<-chan time.Time, func()) {
	if s == nil {
		return nil, func() {}
	}
	t := time.NewTicker(max(orDefault(s.Every, DefaultLook), leastLook))
	return t.C, t.Stop
}

// unless is the reason to end the process: what happened, unless the work is over already.
func (s *Sign) unless(silence time.Duration, happened Cut) Cut {
	if s != nil && s.Holds(silence) {
		return CutDone
	}
	return happened
}
