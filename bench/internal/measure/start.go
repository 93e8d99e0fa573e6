package measure

import (
	"context"
	"errors"
	"os/exec"
	"runtime"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// starts compares the time from the start of the command to the plugin's first call with a whole run of a minimal
// program.
func (b *bench) starts(ctx context.Context) (_ []table.Row, err error) {
	p, err := b.Project(ground.Loop("mock", 1))
	if err != nil {
		return nil, err
	}
	w, err := b.Watch(0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	first := func(flags ...string) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) {
			r, err := p.StartWith(ctx, flags, p.NewSession(), w.Environment...)
			if err != nil {
				return 0, err
			}
			call, err := w.Next()
			if err != nil {
				r.Kill()
				return 0, err
			}
			return call.At.Sub(r.Started).Seconds(), r.Wait()
		}
	}
	hello := func(ctx context.Context) (float64, error) {
		return duration(exec.CommandContext(ctx, b.Program("hello")).Run)
	}
	s, err := sample.InTurn(ctx, b.rounds(30), first(), hello)
	if err != nil {
		return nil, err
	}
	rows := []table.Row{{Name: "start of the command to the plugin's first call", Ours: s[0], Peer: "start to end of a Go program", Theirs: s[1], Key: "start"}}
	if runtime.GOOS == "linux" {
		s, err := sample.InTurn(ctx, b.rounds(30), first("--sandbox", "workspace", "--sandbox-write", w.Dir), first("--sandbox", "none"))
		if err != nil {
			return nil, err
		}
		rows = append(rows, table.Row{
			Name: "the same in the sandbox workspace", Ours: s[0], Peer: "without a sandbox", Theirs: s[1], Target: "at most 1.3×",
		})
	}
	return rows, nil
}
