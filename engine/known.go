package engine

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// known is what the files of a session tell to somebody who only looks.
type known struct {
	plan   *plan.Plan // never nil
	state  state.State
	log    journal.Log
	damage string // what cannot be read, "" for nothing
	// doubtful: a resume is refused until somebody has repaired the session.
	doubtful bool
}

// began reports whether there is anything to tell of the session.
func (k *known) began() bool { return k.log.Count > 0 || k.damage != "" }

// add says what else is damaged.
func (k *known) add(damage ...string) {
	if k.damage != "" {
		damage = append([]string{k.damage}, damage...)
	}
	k.damage = strings.Join(damage, "; ")
}

// hearer is called with the plan of a session, before its journal is read, and returns what takes the events.
type hearer func(p *plan.Plan) func(event.Event)

// look opens a session and reads its files; each event of its journal goes to what tell returns, too. The caller closes the
// directory.
func (e *Engine) look(session string, tell hearer) (*store.Dir, known, error) {
	dir, err := e.open(session)
	if err != nil {
		return nil, known{}, err
	}
	k, err := e.known(dir, tell)
	if err != nil {
		return nil, k, errors.Join(err, dir.Close())
	}
	return dir, k, nil
}

// known reads a session's files. Nothing is started and nothing written.
func (e *Engine) known(dir *store.Dir, tell hearer) (known, error) {
	p, unread := loadPlan(dir)
	if unread != nil && !errors.Is(unread, fs.ErrNotExist) && failure.KindOf(unread) != failure.StateCorrupt {
		return known{}, unread
	}
	k := known{plan: p}
	if p == nil {
		k.plan = &plan.Plan{}
	}
	var err error
	hear := tell(k.plan)
	k.log, err = journal.Read(dir, func(ev event.Event) error {
		hear(ev)
		if next, misfit := schedule.Apply(k.plan, k.state, ev); misfit == nil { // late deliveries do not fit, and do not count
			k.state = next
		}
		return nil
	})
	if err != nil {
		return k, err
	}
	if p == nil && unread != nil && k.log.Count > 0 {
		k.add("plan.json cannot be read: " + unread.Error())
	}
	if k.state.RunID != "" && !k.log.Report.Damaged() && k.log.Report.Unnumbered == 0 {
		return k, nil
	}
	return e.recovered(dir, k)
}

// retell hands the events of a session that was looked at to tell once more: for those who have to know the plan, where it
// turned out to be another one. What was written meanwhile is left out.
func (k known) retell(dir *store.Dir, tell func(event.Event)) error {
	_, err := journal.Read(dir, func(ev event.Event) error {
		if ev.Seq <= k.log.Last.Seq {
			tell(ev)
		}
		return nil
	})
	return err
}

// recovered is what is known of a session whose journal a fold cannot take.
func (e *Engine) recovered(dir *store.Dir, k known) (known, error) {
	found, err := recovery.Read(dir)
	if err != nil {
		return k, err
	}
	if found.Origin() == recovery.Bash && found.IsLoop() {
		k.plan, k.damage = found.Loop().Plan(), ""
	}
	b := recovery.Base{Plan: k.plan, RunID: "-", SchedulerVersion: schedule.Version, Legacy: e.config.variable(legacyVariable) == "1"}
	r, err := found.Restore(b)
	if err != nil {
		if len(found.Lines) > 0 || !isNew(dir) {
			k.add(err.Error())
		}
		return k, nil
	}
	if r.State.RunID == b.RunID {
		r.State.RunID = ""
	}
	k.state, k.doubtful = r.State, r.Doubt != "" && !r.State.Status.Final()
	if len(r.Lost) > 0 {
		k.add(r.Lost...)
	}
	return k, nil
}

// isNew reports whether no run can have begun in a session's directory: there is no state, and no folder
// of a node. A kernel that was killed before its first line leaves a plan and no more.
func isNew(dir *store.Dir) bool {
	if _, err := dir.Stat(store.StateFile); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	entries, err := dir.Entries(".")
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() && isNodeFolder(e.Name()) })
}

func isNodeFolder(name string) bool {
	kind, _, _ := strings.Cut(name, "-")
	return slices.Contains([]plan.Kind{plan.KindStage, plan.KindParallel, plan.KindPipeline}, plan.Kind(kind))
}

// unreadable refuses to begin where something lies that nobody can read.
func unreadable(name, damage string) error {
	return failure.New(failure.StateCorrupt, "session '%s' exists and is damaged: %s", name, damage).
		WithHint("`agent-pipelines repair %s --dry-run` shows what is known; --force starts again from the beginning", name)
}
