package commands

import (
	"context"
	"sync"
	"syscall"
)

// Groups holds the process groups of running commands. The zero value is ready to use. It is safe for concurrent use.
type Groups struct {
	mu      sync.Mutex
	leaders map[int]bool
}

type groupsKey struct{}

// Context returns a context of a call whose commands [Add] records in g.
func (g *Groups) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, groupsKey{}, g)
}

// Add records the process group of this leader if ctx belongs to a served call, and returns a function that forgets the
// group.
func Add(ctx context.Context, leader int) (forget func()) {
	g, ok := ctx.Value(groupsKey{}).(*Groups)
	if !ok {
		return func() {}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.leaders == nil {
		g.leaders = map[int]bool{}
	}
	g.leaders[leader] = true
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.leaders, leader)
	}
}

// Kill sends SIGKILL to each recorded group.
func (g *Groups) Kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for leader := range g.leaders {
		_ = syscall.Kill(-leader, syscall.SIGKILL)
	}
}
