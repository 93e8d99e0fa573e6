package measure

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// nightPatience is the time limit of all turns, far more than they take.
const nightPatience = 10 * time.Minute

// night compares the peak memory of the kernel's and the agent's process after many turns of one
// attempt with that after few. There are no rows where the system does not show a peak.
func (b *bench) night(ctx context.Context) ([]table.Row, error) {
	var long, short [2]sample.Series // of the kernel and the agent
	for range b.MemoryRuns {
		for _, attempt := range []struct {
			turns int
			into  *[2]sample.Series
		}{{b.Evening, &short}, {b.Night, &long}} {
			kernel, plugin, err := b.turnPeaks(ctx, attempt.turns)
			if errors.Is(err, errors.ErrUnsupported) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			attempt.into[0], attempt.into[1] = append(attempt.into[0], kernel), append(attempt.into[1], plugin)
		}
	}
	peer := fmt.Sprintf("after %d turns", b.Evening)
	after := fmt.Sprintf("process after %d turns of one attempt", b.Night)
	return []table.Row{
		{Name: "peak memory of the kernel's " + after, Unit: table.Bytes, Ours: long[0], Peer: peer, Theirs: short[0]},
		{Name: "peak memory of the agent's " + after, Unit: table.Bytes, Ours: long[1], Peer: peer, Theirs: short[1]},
	}, nil
}

// turnPeaks returns the peaks at the last request of an attempt with a number of turns.
func (b *bench) turnPeaks(ctx context.Context, turns int) (kernel, plugin float64, err error) {
	p, err := b.Project(ground.Loop("agent", 1))
	if err != nil {
		return 0, 0, err
	}
	m, err := b.StartModel(ctx, turns)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if err := writeNotes(p.Dir, turns); err != nil {
		return 0, 0, err
	}
	last := m.HoldAt(turns + 1)
	r, err := p.Start(ctx, "s", m.Environment...)
	if err != nil {
		return 0, 0, err
	}
	defer r.Kill()
	select {
	case <-last:
	case <-ctx.Done():
		return 0, 0, context.Cause(ctx)
	case <-time.After(nightPatience):
		return 0, 0, fmt.Errorf("the model was not asked %d times within %s", turns+1, nightPatience)
	}
	pid, err := agentProcess(p, "s")
	if err != nil {
		return 0, 0, err
	}
	if kernel, err = ground.PeakMemory(r.PID); err != nil {
		return 0, 0, err
	}
	plugin, err = ground.PeakMemory(pid)
	return kernel, plugin, err
}

// agentProcess returns the process ID of the plugin agent in a running session.
func agentProcess(p *ground.Project, session string) (int, error) {
	events, err := p.Journal(session)
	if err != nil {
		return 0, err
	}
	for _, e := range events {
		if e.Type != event.PluginStarted {
			continue
		}
		if d, err := event.Decode[event.PluginData](e); err == nil && strings.Contains(d.Plugin, "agent-plugin-agent") {
			return d.PID, nil
		}
	}
	return 0, fmt.Errorf("session %s started no plugin agent", session)
}
