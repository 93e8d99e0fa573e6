package verify

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

const (
	// measured calls are watched, after a third as many that let pools and the garbage collector settle.
	measured = 1000
	// A process may hold this much more after the measured calls than before: less than one thing in
	// a hundred calls, and less than 25 KB a call.
	moreFiles   = 9
	moreThreads = 9
	moreMemory  = 24 << 20
)

// leaksNothing makes many calls on a process of its own and compares what it holds.
func leaksNothing(ctx context.Context, t *trial, _ sdk.Component) finding {
	if !seesProcesses {
		return skip("a run on Linux", "this system does not tell what a process holds")
	}
	s, err := t.fresh(ctx)
	if err != nil {
		return lost(err)
	}
	defer s.close()
	if err := t.repeat(ctx, s, t.opts.calls/3); err != nil {
		return fail("see the rows garbage and unknown-component", "%s", clip(err.Error()))
	}
	before, err := holds(s.pid())
	if err != nil {
		return lost(err)
	}
	if err := t.repeat(ctx, s, t.opts.calls); err != nil {
		return fail("see the rows garbage and unknown-component", "%s", clip(err.Error()))
	}
	var after holdings
	var over []string
	until(ctx, slack, func() bool { // what a call leaves may take a moment to go
		if after, err = holds(s.pid()); err != nil {
			return true
		}
		over = after.over(before)
		return len(over) == 0
	})
	if err != nil {
		return lost(err)
	}
	if len(over) > 0 {
		return fail("close, end and forget at the end of each call what was opened for it", "after %d calls: %s", t.opts.calls, strings.Join(over, ", "))
	}
	return pass("%d files, %d threads, %d KB", after.files, after.threads, after.memory>>10)
}

// over says what a process holds more than it may.
func (h holdings) over(before holdings) []string {
	var over []string
	for _, one := range []struct {
		what         string
		from, to, by int64
	}{
		{"open files", int64(before.files), int64(h.files), moreFiles},
		{"threads", int64(before.threads), int64(h.threads), moreThreads},
		{"bytes of memory", before.memory, h.memory, moreMemory},
	} {
		if one.to > one.from+one.by {
			over = append(over, fmt.Sprintf("%s grew from %d to %d", one.what, one.from, one.to))
		}
	}
	return over
}

// repeat makes n calls of all sorts, one after the other. Failures are answers like others.
func (t *trial) repeat(ctx context.Context, s *session, n int) error {
	var calls []func(context.Context) error
	calls = append(calls, s.client.Health, func(ctx context.Context) error { _, err := s.client.Describe(ctx); return err })
	for _, c := range t.description.Components {
		calls = append(calls, func(ctx context.Context) error { _, err := s.validate(ctx, c, "", junk[0]); return err })
		for _, call := range s.calls(sdk.Component{Kind: c.Kind, Name: "no-such-component"}) {
			calls = append(calls, func(ctx context.Context) error { _, _ = call.make(ctx); return nil })
		}
		if work, _ := t.work(s, c); work != nil {
			calls = append(calls, work)
		}
	}
	for i := range n {
		if err := calls[i%len(calls)](ctx); err != nil {
			return fmt.Errorf("call %d of %d: %s", i+1, n, s.why(ctx, err))
		}
	}
	return nil
}
