package measure

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/sample"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

// starts compares the time from the start of the command to the plugin's first call with the start
// of a minimal program.
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
	n := 0
	first := func(ctx context.Context) (float64, error) {
		n++
		return b.firstCall(ctx, p, w, fmt.Sprintf("s%d", n))
	}
	hello := func(ctx context.Context) (float64, error) {
		return duration(exec.CommandContext(ctx, b.Hello).Run)
	}
	s, err := sample.InTurn(ctx, b.Starts, first, hello)
	if err != nil {
		return nil, err
	}
	return []table.Row{{Name: "start of the command to the plugin's first call", Ours: s[0], Peer: "start to end of a Go program", Theirs: s[1]}}, nil
}

// firstCall runs a watched session and returns the seconds from its command's start to the plugin's
// first call.
func (b *bench) firstCall(ctx context.Context, p *ground.Project, w *ground.Watch, session string) (float64, error) {
	r, err := p.Start(ctx, session, w.Environment...)
	if err != nil {
		return 0, err
	}
	return untilCall(r, w)
}

// untilCall waits for the end of a run and returns the seconds from its start to the plugin's first
// call.
func untilCall(r *ground.Run, w *ground.Watch) (float64, error) {
	call, err := w.Next()
	if err != nil {
		r.Kill()
		return 0, err
	}
	return call.At.Sub(r.Started).Seconds(), r.Wait()
}
