package engine

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// heldPoll is how often a follower looks whether somebody still holds the session.
const heldPoll = 250 * time.Millisecond

// Follow calls observe with the last lines events of a session (all, if lines is negative), each with
// the state after it as far as it changed it, and then with every further one for as long as a kernel,
// in whatever process, holds the session. An error of observe ends it and is returned, and so does the
// end of ctx. It takes no lock and writes nothing; reports of agents are not in the journal and do not
// come here.
func (e *Engine) Follow(ctx context.Context, session string, lines int, observe func(Update) error) error {
	dir, err := e.open(session)
	if err != nil {
		return err
	}
	defer dir.Close()
	f := &follower{dir: dir, observe: observe}
	last := end[Update]{size: lines}
	if lines >= 0 {
		f.observe = last.keep
	}
	if _, err := journal.Read(dir, f.take); err != nil {
		return err
	}
	for u := range last.all() {
		if err := observe(u); err != nil {
			return err
		}
	}
	f.observe = observe
	return e.followHeld(ctx, f)
}

// end is the last elements of a sequence, at most size of them.
type end[T any] struct {
	size int
	kept []T
	next int // where the next one goes, once there are size
}

func (e *end[T]) add(v T) {
	switch {
	case len(e.kept) < e.size:
		e.kept = append(e.kept, v)
	case e.size > 0:
		e.kept[e.next] = v
		e.next = (e.next + 1) % e.size
	}
}

// keep is add as an observer.
func (e *end[T]) keep(v T) error {
	e.add(v)
	return nil
}

// all are the elements in their order.
func (e *end[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, part := range [][]T{e.kept[e.next:], e.kept[:e.next]} {
			for _, v := range part {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// followHeld goes on until nobody holds the session. What was written until then is not missed: the
// journal is read once more afterwards.
func (e *Engine) followHeld(ctx context.Context, f *follower) error {
	held, cancel := context.WithCancel(ctx)
	defer cancel()
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	var looked error
	watching.Go(func() {
		defer cancel()
		looked = e.awaitFree(held, f.dir.Session())
	})
	if err := f.follow(held); err != nil {
		return err
	}
	watching.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if looked != nil {
		return looked
	}
	return f.follow(held) // which has ended: this reads what is there
}

// awaitFree returns nil when nobody holds the session, or when ctx ends.
func (e *Engine) awaitFree(ctx context.Context, session string) error {
	tick := time.NewTicker(heldPoll)
	defer tick.Stop()
	for {
		if _, held, err := store.LockHolder(e.project, session); err != nil || !held {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// follower folds a journal while it grows.
type follower struct {
	dir     *store.Dir
	observe func(Update) error

	plan  *plan.Plan
	state state.State
	last  int64 // number of the last event
}

func (f *follower) follow(ctx context.Context) error {
	for ev, err := range journal.Follow(ctx, f.dir, f.last) {
		if err != nil {
			return err
		}
		if err := f.take(ev); err != nil {
			return err
		}
	}
	return nil
}

// take folds an event and shows it.
func (f *follower) take(ev event.Event) error {
	f.last = ev.Seq
	if f.plan == nil || ev.Type == event.SessionStart { // a run brings its own plan
		if err := f.load(); err != nil {
			return err
		}
	}
	if next, err := schedule.Apply(f.plan, f.state, ev); err == nil { // late deliveries do not fit, and do not count
		f.state = next
	}
	st := f.state
	return f.observe(Update{Session: f.dir.Session(), Event: &ev, State: &st, Plan: f.plan, Dir: f.dir.Path()})
}

func (f *follower) load() error {
	p, err := loadPlan(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		p, err = &plan.Plan{}, nil
	}
	f.plan = p
	return err
}
