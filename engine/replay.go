package engine

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/metrics"
	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// maxPlan bounds plan.json, in bytes.
const maxPlan = 16 << 20

// past is what a session's journal tells those who go on with it. All of it is made in one reading, and no event is kept: a
// session may have millions.
type past struct {
	marker  string // of the session's processes
	log     journal.Log
	kernels []process.Marker // those that have worked on it
	// The rest is made where there is a plan to read the journal with.
	fold    *recovery.Fold
	view    *statefile.Writer
	account *metrics.Collector
}

// pastOf is the past of a session that follows a plan, nil if none is known, before its first event.
func (s *session) pastOf(p *plan.Plan) *past {
	t := &past{marker: s.marker()}
	if p != nil {
		t.fold, t.view, t.account = recovery.NewFold(s.dir, p), statefile.New(s.dir, p), metrics.New(p)
	}
	return t
}

func (t *past) take(e event.Event) {
	if e.Type == event.KernelStart {
		t.kernel(e)
	}
	if t.fold != nil {
		t.fold.Apply(e)
		t.view.Past(e)
		t.account.Apply(e)
	}
}

// kernel adds a kernel as its processes are marked.
func (t *past) kernel(e event.Event) {
	d, err := event.Decode[event.KernelStartData](e)
	if err != nil {
		return
	}
	_, ticks, _ := strings.Cut(d.StartTime, "/") // after the boot that they count from
	if start, err := strconv.ParseUint(ticks, 10, 64); err == nil {
		t.kernels = append(t.kernels, process.Marker{Run: t.marker, PID: d.PID, Start: start})
	}
}

// whole reports whether the journal alone tells how the session stands.
func (t *past) whole() bool { return t.fold != nil && t.fold.Whole(t.log) }

// readPast reads the journal of a session that is not opened for work.
func (s *session) readPast(p *plan.Plan) (*past, error) {
	t := s.pastOf(p)
	var err error
	t.log, err = journal.Read(s.dir, func(e event.Event) error {
		t.take(e)
		return nil
	})
	return t, err
}

// readAgain reads the journal with the plan that the session turned out to have, up to where it was read before.
func (s *session) readAgain() (*past, error) {
	t := s.pastOf(s.plan)
	t.log = s.past.log
	_, err := journal.Read(s.dir, func(e event.Event) error {
		if e.Seq <= t.log.Last.Seq {
			t.take(e)
		}
		return nil
	})
	return t, err
}

// pastKernels are those that have worked on a session that is not opened for work, as far as its journal can be read.
func (s *session) pastKernels() []process.Marker {
	t, err := s.readPast(nil)
	if err != nil {
		s.log.Debug("journal not read", "error", err)
	}
	return t.kernels
}

// follow begins the views of a session with its past.
func (s *session) follow(t *past) {
	s.past, s.view, s.account, s.phases = t, t.view, t.account, phases{}
}

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

// loadPlan reads the plan that a session was started with.
func loadPlan(dir *store.Dir) (*plan.Plan, error) {
	b, err := dir.Read(store.PlanFile, maxPlan)
	if err != nil {
		return nil, err
	}
	var p plan.Plan
	if err := json.Unmarshal(b, &p); err != nil {
		return nil, failure.New(failure.StateCorrupt, "read %s: %w", dir.Abs(store.PlanFile), err)
	}
	return &p, nil
}
