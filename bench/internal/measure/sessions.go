package measure

import (
	"context"
	"errors"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// sessions measures the resources of many live sessions in one engine while their agents work:
// memory of the kernel and the mock plugin, and memory and goroutines per session beside a
// goroutine with an open file. There are no rows where the system does not show memory.
func (b *bench) sessions(ctx context.Context) ([]table.Row, error) {
	rows, err := b.crowd(ctx)
	if err == nil && b.Horde > 0 {
		var more []table.Row
		more, err = b.horde(ctx)
		rows = append(rows, more...)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	return rows, err
}

// crowd measures a kernel with some sessions of the mock plugin.
func (b *bench) crowd(ctx context.Context) ([]table.Row, error) {
	var kernels, plugins, processes sample.Series
	for range b.CrowdRuns {
		kernel, plugin, n, err := b.crowdMemory(ctx)
		if err != nil {
			return nil, err
		}
		kernels, plugins, processes = append(kernels, kernel), append(plugins, plugin), append(processes, float64(n))
	}
	live := fmt.Sprintf("of %d live sessions in one engine", b.Live)
	return []table.Row{
		{
			Name: "resident memory of the kernel's process, " + live, Unit: table.Bytes, Ours: kernels,
			Peer: "target", Theirs: sample.Constant(crowdTarget, len(kernels)),
		},
		{
			Name: "resident memory of a mock plugin's process, " + live, Unit: table.Bytes, Ours: plugins,
			Peer: "target", Theirs: sample.Constant(mockTarget, len(plugins)),
		},
		{
			Name: "processes of the mock plugin, " + live, Unit: table.Count, Ours: processes,
			Peer: "sessions", Theirs: sample.Constant(float64(b.Live), len(processes)),
		},
	}, nil
}

// crowdMemory returns the memory of the kernel, the median of its plugins, and their number.
func (b *bench) crowdMemory(ctx context.Context) (kernel, plugin float64, processes int, err error) {
	p, err := b.Project(ground.Loop("mock", 3))
	if err != nil {
		return 0, 0, 0, err
	}
	w, err := b.WatchCrowd()
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	c, pids, err := p.StartWatchedCrowd(ctx, b.Live, w)
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if kernel, err = ground.ResidentMemory(c.PID); err != nil {
		return 0, 0, 0, err
	}
	var each sample.Series
	for _, pid := range pids {
		m, err := ground.ResidentMemory(pid)
		if err != nil {
			return 0, 0, 0, err
		}
		each = append(each, m)
	}
	return kernel, each.Median(), len(pids), nil
}

// horde measures an engine with very many sessions of an agent in its process.
func (b *bench) horde(ctx context.Context) ([]table.Row, error) {
	var memory, goroutines, floorMemory, floorGoroutines sample.Series
	for range b.CrowdRuns {
		m, g, err := b.perSession(ctx, (*ground.Project).StartCrowd)
		if err != nil {
			return nil, err
		}
		floorM, floorG, err := b.perSession(ctx, (*ground.Project).StartFloor)
		if err != nil {
			return nil, err
		}
		memory, goroutines = append(memory, m), append(goroutines, g)
		floorMemory, floorGoroutines = append(floorMemory, floorM), append(floorGoroutines, floorG)
	}
	label := fmt.Sprintf("a session of %d live ones in one engine", b.Horde)
	const peer = "a goroutine with an open file and 4 KB"
	return []table.Row{
		{Name: "resident memory for " + label, Unit: table.Bytes, Ours: memory, Peer: peer, Theirs: floorMemory},
		{Name: "goroutines for " + label, Unit: table.Count, Ours: goroutines, Peer: peer, Theirs: floorGoroutines},
	}, nil
}

// perSession returns the additional memory and goroutines per session of a process with a horde,
// relative to one with a single session.
func (b *bench) perSession(ctx context.Context, start func(*ground.Project, context.Context, int) (*ground.CrowdProcess, error)) (memory, goroutines float64, err error) {
	var m, g [2]float64
	for i, n := range []int{1, b.Horde} {
		p, err := b.Project(ground.Loop("inside", 3))
		if err != nil {
			return 0, 0, err
		}
		c, err := start(p, ctx, n)
		if err != nil {
			return 0, 0, err
		}
		m[i], err = ground.ResidentMemory(c.PID)
		g[i] = float64(c.Goroutines)
		if err := errors.Join(err, c.Close()); err != nil {
			return 0, 0, err
		}
	}
	more := float64(b.Horde - 1)
	return (m[1] - m[0]) / more, (g[1] - g[0]) / more, nil
}
