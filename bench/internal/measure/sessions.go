package measure

import (
	"context"
	"errors"
	"fmt"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// sessions measures the memory of the kernel and the mock plugin with many live sessions in one engine while their
// agents work. It returns no rows where the system does not show memory.
func (b *bench) sessions(ctx context.Context) ([]table.Row, error) {
	var kernels, plugins sample.Series
	for range b.rounds(3) {
		kernel, plugin, err := b.crowdMemory(ctx)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		kernels, plugins = append(kernels, kernel), append(plugins, plugin)
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
	}, nil
}

// crowdMemory returns the resident memory of the kernel and the median of its plugins, in bytes.
func (b *bench) crowdMemory(ctx context.Context) (kernel, plugin float64, err error) {
	p, err := b.Project(ground.Loop("mock", 3))
	if err != nil {
		return 0, 0, err
	}
	w, err := b.WatchCrowd()
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	c, pids, err := p.StartCrowd(ctx, b.Live, w)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if kernel, err = ground.ResidentMemory(c.PID); err != nil {
		return 0, 0, err
	}
	var each sample.Series
	for _, pid := range pids {
		m, err := ground.ResidentMemory(pid)
		if err != nil {
			return 0, 0, err
		}
		each = append(each, m)
	}
	return kernel, each.Median(), nil
}
