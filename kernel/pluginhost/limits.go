package pluginhost

import (
	"context"
	"runtime"

	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
)

// system holds operating system resources shared by a root Host and its dependents.
type system struct {
	spawner    *process.Spawner
	table      *process.Table
	restore    func()        // resets the process-wide setting that adopts orphans
	startSlots chan struct{} // limits concurrent starts
}

func newSystem() (*system, error) {
	restore, err := process.AdoptOrphans()
	if err != nil {
		return nil, err
	}
	return &system{
		spawner: process.NewSpawner(), table: &process.Table{}, restore: restore, startSlots: make(chan struct{}, 2+2*runtime.NumCPU()),
	}, nil
}

// acquireStart waits until few enough plugins are starting, because the time limit of a start should not be
// spent on waiting for a processor. The caller calls done after the start.
func (s *system) acquireStart(ctx context.Context) (done func(), err error) {
	select {
	case s.startSlots <- struct{}{}:
		return func() { <-s.startSlots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// close is called once, after the pool is closed.
func (s *system) close() {
	s.spawner.Close()
	s.restore()
}
