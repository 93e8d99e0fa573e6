package engine

import (
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// maxPlan bounds plan.json, in bytes.
const maxPlan = 16 << 20

// replay is the result of one pass over a session's journal, made when the session is opened. It keeps no
// events, because a session may have millions.
type replay struct {
	marker  string // of the session's processes
	log     journal.Summary
	kernels []process.Marker // kernels that have run the session
	// The fields below are nil if no plan is known.
	fold      *recovery.Fold
	stateFile *statefile.Writer
	timeline  *timeline.Timeline
}

// newReplay returns an empty replay for a plan, which may be nil.
func (s *session) newReplay(p *plan.Plan) *replay {
	t := &replay{marker: s.processMarker()}
	if p != nil {
		t.fold, t.stateFile, t.timeline = recovery.NewFold(s.dir, p), statefile.New(s.dir, p), timeline.New(p)
	}
	return t
}

func (t *replay) apply(e event.Event) {
	if e.Type == event.KernelStart {
		t.addKernel(e)
	}
	if t.fold != nil {
		t.fold.Apply(e)
		t.stateFile.Replay(e)
		t.timeline.Apply(e)
	}
}

// addKernel adds the process marker of a kernel.
func (t *replay) addKernel(e event.Event) {
	d, err := event.Decode[event.KernelStartData](e)
	if err != nil {
		return
	}
	_, ticks, _ := strings.Cut(d.StartTime, "/") // follows the id of the boot
	if start, err := strconv.ParseUint(ticks, 10, 64); err == nil {
		t.kernels = append(t.kernels, process.Marker{Run: t.marker, PID: d.PID, Start: start})
	}
}

// isComplete reports whether the journal alone yields the session's state.
func (t *replay) isComplete() bool { return t.fold != nil && t.fold.Complete(t.log) }

// replayJournal reads the journal of a session that is not opened for writing.
func (s *session) replayJournal(p *plan.Plan) (*replay, error) {
	t := s.newReplay(p)
	var err error
	t.log, err = journal.Read(s.dir, func(e event.Event) error {
		t.apply(e)
		return nil
	})
	return t, err
}

// replayAgain reads the journal with the session's recovered plan, up to the last event read before.
func (s *session) replayAgain() (*replay, error) {
	t := s.newReplay(s.plan)
	t.log = s.replay.log
	_, err := journal.Read(s.dir, func(e event.Event) error {
		if e.Seq <= t.log.Last.Seq {
			t.apply(e)
		}
		return nil
	})
	return t, err
}

// previousKernels returns the kernels that have run a session, as far as its journal is readable.
func (s *session) previousKernels() []process.Marker {
	t, err := s.replayJournal(nil)
	if err != nil {
		s.log.Debug("could not read the journal", "error", err)
	}
	return t.kernels
}

// useReplay continues the derived files of a session from a replay.
func (s *session) useReplay(t *replay) {
	s.replay, s.stateFile, s.timeline, s.phases = t, t.stateFile, t.timeline, phases{}
}

// sessionView is a session's state, loaded read-only and without its lock.
type sessionView struct {
	plan   *plan.Plan // never nil
	state  state.State
	log    journal.Summary
	damage string // describes unreadable files, "" for none
	// needsRepair reports that a resume requires a repair by the user first.
	needsRepair bool
}

// began reports whether the session has events or damage to report.
func (k *sessionView) began() bool { return k.log.Count > 0 || k.damage != "" }

// addDamage appends descriptions of damage.
func (k *sessionView) addDamage(damage ...string) {
	if k.damage != "" {
		damage = append([]string{k.damage}, damage...)
	}
	k.damage = strings.Join(damage, "; ")
}

// eventHandler returns the callback for the session's events; it is called with the plan before the journal
// is read.
type eventHandler func(p *plan.Plan) func(event.Event)

// openView opens a session and loads its view; handle's callback receives each event of the journal. The
// caller closes the directory.
func (e *Engine) openView(session string, handle eventHandler) (*store.Dir, sessionView, error) {
	dir, err := e.open(session)
	if err != nil {
		return nil, sessionView{}, err
	}
	view, err := e.loadView(dir, handle)
	if err != nil {
		return nil, view, errors.Join(err, dir.Close())
	}
	return dir, view, nil
}

// loadView reads a session's files. It writes nothing and starts nothing.
func (e *Engine) loadView(dir *store.Dir, handle eventHandler) (sessionView, error) {
	p, unread := loadPlan(dir)
	if unread != nil && !errors.Is(unread, fs.ErrNotExist) && failure.KindOf(unread) != failure.StateCorrupt {
		return sessionView{}, unread
	}
	view := sessionView{plan: p}
	if p == nil {
		view.plan = &plan.Plan{}
	}
	var err error
	onEvent := handle(view.plan)
	view.log, err = journal.Read(dir, func(ev event.Event) error {
		onEvent(ev)
		if next, invalid := progress.Apply(view.plan, view.state, ev); invalid == nil { // late deliveries are invalid and ignored
			view.state = next
		}
		return nil
	})
	if err != nil {
		return view, err
	}
	if p == nil && unread != nil && view.log.Count > 0 {
		view.addDamage("plan.json cannot be read: " + unread.Error())
	}
	if view.state.RunID != "" && !view.log.Report.Damaged() && view.log.Report.Unnumbered == 0 {
		return view, nil
	}
	return e.recoverView(dir, view)
}

// reread passes the view's events to handle again, for folds that need the recovered plan. Events written
// since are skipped.
func (k sessionView) reread(dir *store.Dir, handle func(event.Event)) error {
	_, err := journal.Read(dir, func(ev event.Event) error {
		if ev.Seq <= k.log.Last.Seq {
			handle(ev)
		}
		return nil
	})
	return err
}

// recoverView completes the view of a session whose journal cannot be folded.
func (e *Engine) recoverView(dir *store.Dir, view sessionView) (sessionView, error) {
	found, err := recovery.Read(dir)
	if err != nil {
		return view, err
	}
	if found.Origin() == recovery.Bash && found.IsLoop() {
		view.plan, view.damage = found.Loop().Plan(), ""
	}
	b := recovery.Base{Plan: view.plan, RunID: "-", SchedulerVersion: progress.Version, Legacy: e.env.Config.Variable(legacyVariable) == "1"}
	r, err := found.Restore(b)
	if err != nil {
		if len(found.Lines) > 0 || !isNew(dir) {
			view.addDamage(err.Error())
		}
		return view, nil
	}
	if r.State.RunID == b.RunID {
		r.State.RunID = ""
	}
	view.state, view.needsRepair = r.State, r.Doubt != "" && !r.State.Status.Final()
	if len(r.Lost) > 0 {
		view.addDamage(r.Lost...)
	}
	return view, nil
}

// isNew reports whether no run can have begun in a session's directory: it has no state file and no node
// directory. A kernel killed before its first event leaves only a plan.
func isNew(dir *store.Dir) bool {
	if _, err := dir.Stat(store.StateFile); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	entries, err := dir.Entries(".")
	return err == nil && !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.IsDir() && isNodeDir(e.Name()) })
}

func isNodeDir(name string) bool {
	kind, _, _ := strings.Cut(name, "-")
	return slices.Contains([]plan.Kind{plan.KindStage, plan.KindParallel, plan.KindPipeline}, plan.Kind(kind))
}

// loadPlan reads the plan of a session.
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
