package measure

import (
	"context"
	"errors"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// memory measures the peak memory of the kernel's and the plugin's process after many iterations. It compares them with
// the peak of a plain gRPC server after as many calls. It returns no rows where the system does not show a peak.
func (b *bench) memory(ctx context.Context) ([]table.Row, error) {
	var kernels, plugins, sums, bares sample.Series
	for range b.rounds(5) {
		kernel, plugin, err := b.peaks(ctx)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		bare, err := b.barePeak(ctx)
		if err != nil {
			return nil, err
		}
		kernels, plugins = append(kernels, kernel), append(plugins, plugin)
		sums, bares = append(sums, kernel+plugin), append(bares, bare)
	}
	const peer = "peak of a bare gRPC server"
	after := fmt.Sprintf("after %d iterations", b.MemoryIterations)
	return []table.Row{
		{Name: "peak memory of the kernel's process " + after, Unit: table.Bytes, Ours: kernels, Peer: peer, Theirs: bares, Key: "memory-kernel"},
		{Name: "peak memory of the mock plugin's process " + after, Unit: table.Bytes, Ours: plugins, Peer: peer, Theirs: bares, Key: "memory-mock"},
		{
			Name: "peak memory of the mock plugin's process " + after, Unit: table.Bytes, Ours: plugins,
			Peer: "target", Theirs: sample.Constant(mockTarget, len(plugins)),
		},
		{
			Name: "both together (U109)", Unit: table.Bytes, Ours: sums,
			Peer: "target", Theirs: sample.Constant(memoryTarget, len(sums)),
		},
	}, nil
}

// peaks measures a session whose agent hangs after a number of iterations: both processes are then
// alive and idle.
func (b *bench) peaks(ctx context.Context) (kernel, plugin float64, err error) {
	last := b.MemoryIterations + 1
	p, err := b.Project(ground.Loop("mock", last))
	if err != nil {
		return 0, 0, err
	}
	w, err := b.Watch(last)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	r, err := p.Start(ctx, p.NewSession(), w.Environment...)
	if err != nil {
		return 0, 0, err
	}
	defer r.Kill()
	call, err := w.Until(last)
	if err != nil {
		return 0, 0, err
	}
	if kernel, err = ground.PeakMemory(r.PID); err != nil {
		return 0, 0, err
	}
	plugin, err = ground.PeakMemory(call.PID)
	return kernel, plugin, err
}

func (b *bench) barePeak(ctx context.Context) (_ float64, err error) {
	server, err := b.StartBare(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	for range b.MemoryIterations {
		if err := server.Stream(ctx, make([]byte, 2<<10)); err != nil {
			return 0, err
		}
	}
	return ground.PeakMemory(server.PID)
}
