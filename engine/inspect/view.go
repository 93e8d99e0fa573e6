package inspect

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/recovery"
	"github.com/dodo-digital/agent-pipelines/engine/internal/verification"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// maxPlan bounds plan.json, in bytes.
const maxPlan = 16 << 20

// ErrNothingToResume means that the session has no work to resume.
var ErrNothingToResume = errors.New("nothing to resume")

// NeverBeganError returns the error for a session directory without events.
func NeverBeganError(name string) error {
	return NewError(ErrNothingToResume, "session '%s' never began: its journal has no events", name).WithHint("start it again")
}

// NewError returns an error about a session's state. errors.Is finds the sentinel; the message does not
// repeat it.
func NewError(sentinel error, format string, args ...any) *failure.Error {
	e := failure.New(failure.SessionState, format, args...)
	e.Cause = sentinel
	return e
}

// Inspector answers queries about the sessions of a project. It takes no lock, starts nothing and is safe for
// concurrent use.
type Inspector struct{ env *environment.Environment }

// New returns the inspector of an engine's environment.
func New(env *environment.Environment) Inspector { return Inspector{env} }

// Open opens the directory of an existing session; the caller closes it. The error wraps [store.ErrSessionName] for an
// invalid name, and [store.ErrNoSession] if there is no such session.
func Open(env *environment.Environment, session string) (*store.Dir, error) {
	if err := store.CheckSession(session); err != nil {
		return nil, err
	}
	return env.Project.Open(session)
}

// View is a session's state, loaded read-only and without its lock.
type View struct {
	Plan   *plan.Plan // never nil
	State  state.State
	log    journal.Summary
	damage string // describes unreadable files, "" for none
	// needsRepair reports that a resume requires a repair by the user first.
	needsRepair bool
	// refusal says why the session cannot continue, by one pass over the journal while it may have grown.
	refusal error
}

// began reports whether the session has events or damage to report.
func (k *View) began() bool { return k.log.Count > 0 || k.damage != "" }

// addDamage appends descriptions of damage.
func (k *View) addDamage(damage ...string) {
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
func (i Inspector) openView(session string, handle eventHandler) (*store.Dir, View, error) {
	dir, err := Open(i.env, session)
	if err != nil {
		return nil, View{}, err
	}
	view, err := LoadView(i.env, dir, handle)
	if err != nil {
		return nil, view, errors.Join(err, dir.Close())
	}
	return dir, view, nil
}

// LoadView reads a session's files. It writes nothing and starts nothing.
func LoadView(env *environment.Environment, dir *store.Dir, handle eventHandler) (View, error) {
	p, unread := LoadPlan(dir)
	if unread != nil && !errors.Is(unread, fs.ErrNotExist) && failure.KindOf(unread) != failure.StateCorrupt {
		return View{}, unread
	}
	view := View{Plan: p}
	if p == nil {
		view.Plan = &plan.Plan{}
	}
	var err error
	onEvent := handle(view.Plan)
	heads, unreadable := verification.Load(dir, hclog.NewNullLogger()) // a process that writes the journal logs the error
	var found *verification.Verification
	view.log, found, err = heads.Read(dir, func(ev event.Event) error {
		onEvent(ev)
		if next, invalid := progress.Apply(view.Plan, view.State, ev); invalid == nil { // late deliveries are invalid and ignored
			view.State = next
		}
		return nil
	})
	if err != nil {
		return view, err
	}
	if view.refusal = unreadable; unreadable == nil {
		view.refusal = found.Refusal()
	}
	if p == nil && unread != nil && view.log.Count > 0 {
		view.addDamage("plan.json cannot be read: " + unread.Error())
	}
	if view.State.RunID != "" && !view.log.Report.Damaged() && view.log.Report.Unnumbered == 0 {
		return view, nil
	}
	return recoverView(env.Config, dir, view)
}

// reread passes the view's events to handle again, for folds that need the recovered plan. Events written since then
// are skipped.
func (k View) reread(dir *store.Dir, handle func(event.Event)) error {
	_, err := journal.Read(dir, func(ev event.Event) error {
		if ev.Seq <= k.log.Last.Seq {
			handle(ev)
		}
		return nil
	})
	return err
}

// recoverView completes the view of a session whose journal is empty, damaged or of the Bash engine.
func recoverView(c environment.Config, dir *store.Dir, view View) (View, error) {
	found, err := recovery.Read(dir)
	if err != nil {
		return view, err
	}
	if loop, ok := found.BashLoop(); ok {
		view.Plan, view.damage = loop.Plan(), ""
	}
	b := recovery.Params{Plan: view.Plan, RunID: "-", SchedulerVersion: progress.Version, Legacy: c.Variable(recovery.LegacyVariable) == "1"}
	r, err := found.Restore(b)
	if err != nil {
		if !found.IsEmpty() {
			view.addDamage(err.Error())
		}
		return view, nil
	}
	if r.State.RunID == b.RunID {
		r.State.RunID = ""
	}
	view.State, view.needsRepair = r.State, r.Doubt != "" && !r.State.Status.Final()
	if f := r.State.Failure; f != nil { // from an event that the scheduler made while the journal was restored
		complete := *f
		complete.Remedy, complete.ResumeCommand = failure.Render(f.Remedy, c.Program), failure.Render(f.ResumeCommand, c.Program)
		view.State.Failure = &complete
	}
	if len(r.Lost) > 0 {
		view.addDamage(r.Lost...)
	}
	return view, nil
}

// LoadPlan reads the plan of a session.
func LoadPlan(dir *store.Dir) (*plan.Plan, error) {
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

// timelineFold builds the timeline of a session while its journal is read, and passes the entries to observers.
type timelineFold struct {
	timeline  *timeline.Timeline
	observers []func(timeline.Entry)
}

// start begins a timeline and returns the callback for the events.
func (f *timelineFold) start(p *plan.Plan, observers ...func(timeline.Entry)) func(event.Event) {
	f.timeline, f.observers = timeline.New(p), observers
	return func(e event.Event) {
		entry, ok := f.timeline.Apply(e)
		if !ok {
			return
		}
		for _, observe := range f.observers {
			observe(entry)
		}
	}
}
