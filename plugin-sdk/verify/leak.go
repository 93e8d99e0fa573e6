package verify

import (
	"context"
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify/internal/subprocess"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

const (
	// The allowed growth of a process over 1000 measured calls: less than one resource per hundred
	// calls, and less than 25 KiB per call.
	moreFiles   = 9
	moreThreads = 9
	moreMemory  = 24 << 20
)

// checkLeak makes many calls on a process of this row alone and compares its resources before and after.
func checkLeak(ctx context.Context, t *trial, s *subprocess.Session, _ sdk.Component) finding {
	if !subprocess.SeesProcesses {
		return skip("a run on Linux", "this system does not show a process's resources")
	}
	if err := t.repeat(ctx, s, t.opts.scale.calls/3); err != nil {
		return fail("see the rows garbage and unknown-component", "%s", subprocess.Shorten(err.Error()))
	}
	before, err := subprocess.ReadResources(s.Pid())
	if err != nil {
		return noProcess(err)
	}
	if err := t.repeat(ctx, s, t.opts.scale.calls); err != nil {
		return fail("see the rows garbage and unknown-component", "%s", subprocess.Shorten(err.Error()))
	}
	var after subprocess.Resources
	var over []string
	subprocess.Poll(ctx, subprocess.Slack, func() bool { // the resources of a call may be freed shortly after it
		if after, err = subprocess.ReadResources(s.Pid()); err != nil {
			return true
		}
		over = growth(after, before)
		return len(over) == 0
	})
	if err != nil {
		return noProcess(err)
	}
	if len(over) > 0 {
		return fail("release all resources of a call at its end", "after %d calls: %s", t.opts.scale.calls, strings.Join(over, ", "))
	}
	return pass("%d files, %d threads, %d KB", after.Files, after.Threads, after.Memory>>10)
}

// growth lists the resources that exceed the allowed growth.
func growth(h subprocess.Resources, before subprocess.Resources) []string {
	var over []string
	for _, one := range []struct {
		resource     string
		from, to, by int64
	}{
		{"open files", int64(before.Files), int64(h.Files), moreFiles},
		{"threads", int64(before.Threads), int64(h.Threads), moreThreads},
		{"bytes of memory", before.Memory, h.Memory, moreMemory},
	} {
		if one.to > one.from+one.by {
			over = append(over, fmt.Sprintf("%s grew from %d to %d", one.resource, one.from, one.to))
		}
	}
	return over
}

// repeat makes n successive calls of all kinds. Failures count as answers.
func (t *trial) repeat(ctx context.Context, s *subprocess.Session, n int) error {
	var all []func(context.Context) error
	all = append(all, s.Client.Health, func(ctx context.Context) error { _, err := s.Client.Describe(ctx); return err })
	for _, c := range t.description.Components {
		all = append(all, func(ctx context.Context) error { _, err := validate(ctx, s, c, "", invalidConfigs[0]); return err })
		for _, call := range calls(s, sdk.Component{Kind: c.Kind, Name: "no-such-component"}) {
			all = append(all, func(ctx context.Context) error { _ = call.make(ctx); return nil })
		}
		if work, _ := t.work(s, c, nil); work != nil {
			all = append(all, work)
		}
	}
	for i := range n {
		if err := all[i%len(all)](ctx); err != nil {
			return fmt.Errorf("call %d of %d: %s", i+1, n, explain(ctx, s, err))
		}
	}
	return nil
}
