package verify

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

const (
	// measured is the number of measured calls. A third as many run first, to let pools and the
	// garbage collector settle.
	measured = 1000
	// The allowed growth of a process over the measured calls: less than one resource per hundred
	// calls, and less than 25 KB per call.
	moreFiles   = 9
	moreThreads = 9
	moreMemory  = 24 << 20
)

// checkLeak makes many calls on its own process and compares the resources before and after.
func checkLeak(ctx context.Context, t *trial, _ sdk.Component) finding {
	if !seesProcesses {
		return skip("a run on Linux", "this system does not show a process's resources")
	}
	s, err := t.newSession(ctx)
	if err != nil {
		return noProcess(err)
	}
	defer s.close()
	if err := t.repeat(ctx, s, t.opts.calls/3); err != nil {
		return fail("see the rows garbage and unknown-component", "%s", shorten(err.Error()))
	}
	before, err := holds(s.pid())
	if err != nil {
		return noProcess(err)
	}
	if err := t.repeat(ctx, s, t.opts.calls); err != nil {
		return fail("see the rows garbage and unknown-component", "%s", shorten(err.Error()))
	}
	var after holdings
	var over []string
	poll(ctx, slack, func() bool { // the resources of a call may be freed shortly after it
		if after, err = holds(s.pid()); err != nil {
			return true
		}
		over = after.growth(before)
		return len(over) == 0
	})
	if err != nil {
		return noProcess(err)
	}
	if len(over) > 0 {
		return fail("release all resources of a call at its end", "after %d calls: %s", t.opts.calls, strings.Join(over, ", "))
	}
	return pass("%d files, %d threads, %d KB", after.files, after.threads, after.memory>>10)
}

// growth lists the resources that exceed the allowed growth.
func (h holdings) growth(before holdings) []string {
	var over []string
	for _, one := range []struct {
		resource     string
		from, to, by int64
	}{
		{"open files", int64(before.files), int64(h.files), moreFiles},
		{"threads", int64(before.threads), int64(h.threads), moreThreads},
		{"bytes of memory", before.memory, h.memory, moreMemory},
	} {
		if one.to > one.from+one.by {
			over = append(over, fmt.Sprintf("%s grew from %d to %d", one.resource, one.from, one.to))
		}
	}
	return over
}

// repeat makes n successive calls of all kinds. Failures count as answers.
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
			return fmt.Errorf("call %d of %d: %s", i+1, n, s.explain(ctx, err))
		}
	}
	return nil
}
