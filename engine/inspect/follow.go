package inspect

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Tail calls yield with the last lines events of a session (all, if lines is negative). With follow it
// continues with every further event until ctx ends. It returns an error of yield at once.
func (i Inspector) Tail(ctx context.Context, session string, lines int, follow bool, yield func(event.Event) error) error {
	dir, err := Open(i.env, session)
	if err != nil {
		return err
	}
	defer dir.Close()
	var log journal.Summary
	err = readLast(lines, yield, func(observe func(event.Event) error) error {
		log, err = journal.Read(dir, observe)
		return err
	})
	if err != nil {
		return err
	}
	if !follow {
		return nil
	}
	for ev, err := range journal.Follow(ctx, dir, log.Last.Seq) {
		if err != nil {
			return err
		}
		if err := yield(ev); err != nil {
			return err
		}
	}
	return nil
}

// lockPoll is the interval at which a follower checks that the session is still held.
const lockPoll = 250 * time.Millisecond

// Follow calls observe with the last lines events of a session (all, if lines is negative), each with its
// plan and the state after it. It then calls observe with further events while a kernel of any process holds
// the session.
//
// Follow returns an error of observe, and the cause of ctx's end. It takes no lock and writes nothing. Agents' reports
// are not journaled and not included.
func (i Inspector) Follow(ctx context.Context, session string, lines int, observe func(Update) error) error {
	dir, err := Open(i.env, session)
	if err != nil {
		return err
	}
	defer dir.Close()
	f := &follower{dir: dir}
	err = readLast(lines, observe, func(observe func(Update) error) error {
		f.observe = observe
		_, err := journal.Read(dir, f.apply)
		return err
	})
	if err != nil {
		return err
	}
	f.observe = observe
	return f.followHeld(ctx, i.env.Project)
}

// readLast passes the last elements that read yields to observe: at most lines, or all if lines is negative.
func readLast[T any](lines int, observe func(T) error, read func(observe func(T) error) error) error {
	if lines < 0 {
		return read(observe)
	}
	var last []T
	err := read(func(v T) error {
		if last = append(last, v); len(last)-lines > lines { // rarely, so that the copy costs little
			last = slices.Clone(last[len(last)-lines:])
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, v := range last[max(len(last)-lines, 0):] {
		if err := observe(v); err != nil {
			return err
		}
	}
	return nil
}

// followHeld follows the journal until no kernel holds the session. It then reads the journal once more, so
// that no event is missed.
func (f *follower) followHeld(ctx context.Context, project *store.Project) error {
	held, cancel := context.WithCancel(ctx)
	defer cancel()
	var watcher sync.WaitGroup
	defer watcher.Wait()
	defer cancel()
	var lockErr error
	watcher.Go(func() {
		defer cancel()
		lockErr = awaitUnlocked(held, project, f.dir.Session())
	})
	if err := f.follow(held); err != nil {
		return err
	}
	watcher.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if lockErr != nil {
		return lockErr
	}
	return f.follow(held) // held is done: this reads the remaining events
}

// awaitUnlocked returns nil when no kernel holds the session, or when ctx ends.
func awaitUnlocked(ctx context.Context, project *store.Project, session string) error {
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		if _, held, err := store.LockHolder(project, session); err != nil || !held {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// follower folds a growing journal.
type follower struct {
	dir     *store.Dir
	observe func(Update) error

	plan  *plan.Plan
	state state.State
	last  int64 // sequence number of the last event
}

func (f *follower) follow(ctx context.Context) error {
	for ev, err := range journal.Follow(ctx, f.dir, f.last) {
		if err != nil {
			return err
		}
		if err := f.apply(ev); err != nil {
			return err
		}
	}
	return nil
}

// apply folds an event and passes it to the observer.
func (f *follower) apply(ev event.Event) error {
	f.last = ev.Seq
	if f.plan == nil || ev.Type == event.SessionStart { // each run has its own plan
		if err := f.loadPlan(); err != nil {
			return err
		}
	}
	if next, err := progress.Apply(f.plan, f.state, ev); err == nil { // late deliveries are invalid and ignored
		f.state = next
	}
	st := f.state
	return f.observe(Update{Session: f.dir.Session(), Event: &ev, State: &st, Plan: f.plan, Dir: f.dir.Path()})
}

func (f *follower) loadPlan() error {
	p, err := LoadPlan(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		p, err = &plan.Plan{}, nil
	}
	f.plan = p
	return err
}
