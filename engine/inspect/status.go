package inspect

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/engine/internal/verification"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// SessionInfo is one entry of a list of sessions.
type SessionInfo struct {
	Session string       `json:"session"`
	Status  state.Status `json:"status"`
	Crashed bool         `json:"crashed,omitempty"` // running by its state, but not held by a kernel
	Stage   string       `json:"stage,omitempty"`   // id of the current node
	Run     int          `json:"run,omitempty"`     // of the whole pipeline, 0 if it runs once
	Runs    int          `json:"runs,omitempty"`
	// Waiting lists the ids of unanswered questions.
	Waiting  []string  `json:"waiting,omitempty"`
	Modified time.Time `json:"modified"`
}

// Status describes a session.
type Status struct {
	Identity
	Pause
	Position
	Results
	Times
	Failure *event.FailureData `json:"error,omitempty"`
	Usage   event.Usage        `json:"usage"`
	Dir     string             `json:"dir"`
	CurrentWork
	// Questions holds the open questions.
	Questions []Question `json:"questions,omitempty"`
	Findings
	// Damage describes the unreadable parts of the session's files, "" for none.
	Damage string `json:"damage,omitempty"`
	// ResumeCommand resumes the session, "" if it cannot be resumed. RepairCommand is set instead if the user
	// must repair the session first.
	ResumeCommand string `json:"resume_command,omitempty"`
	RepairCommand string `json:"repair_command,omitempty"`
	// Tampered says how the journal differs from what the user left, "" if it does not or must be repaired. VerifyCommand is
	// then set instead of the two commands above: the session continues after the user has accepted the journal.
	Tampered      string `json:"tampered,omitempty"`
	VerifyCommand string `json:"verify_command,omitempty"`
	// Health equals the result of [Inspector.Health].
	Health Health `json:"health"`
}

// Identity holds the names of a session and of its run, its status, and the process that holds it.
type Identity struct {
	Session string       `json:"session"`
	RunID   string       `json:"run_id"`
	Mode    string       `json:"mode"`
	Status  state.Status `json:"status"`
	// Crashed reports that the state is running, but no kernel holds the session.
	Crashed bool `json:"crashed,omitempty"`
	// Locked reports that a kernel holds the session. PID is its process, 0 if unknown.
	Locked bool `json:"held,omitempty"`
	PID    int  `json:"pid,omitempty"`
}

// Pause says why a session is paused. Reason is also the reason of the session's end.
type Pause struct {
	PauseKind state.PauseKind `json:"pause_kind,omitempty"`
	PauseCode string          `json:"pause_code,omitempty"` // of an escalation
	Reason    string          `json:"reason,omitempty"`
}

// Position is the current place of a session in its pipeline.
type Position struct {
	Run       int    `json:"run,omitempty"`  // of the whole pipeline, 0 if it runs once
	Runs      int    `json:"runs,omitempty"` // number of runs
	Node      string `json:"node,omitempty"` // path of the current node
	Stage     string `json:"stage,omitempty"`
	Type      string `json:"type,omitempty"` // the stage's name
	Provider  string `json:"provider,omitempty"`
	Iteration int    `json:"iteration"`
	Max       int    `json:"max_iterations"`
	Attempt   int    `json:"attempt,omitempty"`
}

// Results are the results of a session so far.
type Results struct {
	Completed []string      `json:"stages_completed"`
	Stages    []StageResult `json:"stages"` // all nodes, in plan order
	// Deliverable is the artifact that the completed session delivers, nil for none or before the completion.
	Deliverable *Deliverable `json:"deliverable,omitempty"`
}

// Times counts the events of a session, and says when the session began, ended and last wrote an event.
type Times struct {
	Events      int64      `json:"events"`
	LastEvent   string     `json:"last_event,omitempty"`
	LastEventAt time.Time  `json:"last_event_at,omitzero"`
	StartedAt   time.Time  `json:"started_at,omitzero"`
	EndedAt     *time.Time `json:"ended_at,omitempty"`
}

// CurrentWork describes the work on the current node, and the limits of the run.
type CurrentWork struct {
	// Providers holds the providers of the current parallel block, in its order.
	Providers []ProviderStatus `json:"providers,omitempty"`
	// Plugins lists the processes that the session's last kernel started, each with its isolation.
	Plugins []event.PluginData `json:"plugins,omitempty"`
	// Steps holds the steps of the current node, or else of the last node with steps. StepsNode is the id of
	// that node.
	StepsNode string       `json:"steps_of,omitempty"`
	Steps     []StepStatus `json:"steps,omitempty"`
	// Cycles lists the counted edges taken so far, by name. Returns is the number of all returns of the run,
	// MaxReturns its limit.
	Cycles     []CycleStatus `json:"cycles,omitempty"`
	Returns    int           `json:"returns,omitempty"`
	MaxReturns int           `json:"max_returns,omitempty"`
	// Budgets holds the budgets of the session and of its nodes.
	Budgets []BudgetStatus `json:"budgets,omitempty"`
}

// Status returns the state of a session from its journal. It takes no lock and starts nothing. The error
// wraps [store.ErrNoSession] if there is no such session.
func (i Inspector) Status(session string) (*Status, error) {
	var fold statusFold
	dir, view, err := i.openView(session, fold.begin)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return i.newStatus(session, dir, view, &fold)
}

// Health rates the session's latest run. A session that never began has score 1.
func (i Inspector) Health(session string) (Health, error) {
	s, err := i.Status(session)
	if err != nil {
		return Health{}, err
	}
	return s.Health, nil
}

// Questions returns the open questions of a session, oldest first, including answers not applied yet. It
// takes no lock.
func (i Inspector) Questions(session string) ([]Question, error) {
	s, err := i.Status(session)
	if err != nil {
		return nil, err
	}
	return s.Questions, nil
}

// newStatus returns the status of a session from its view and the collected events.
func (i Inspector) newStatus(session string, dir *store.Dir, view View, fold *statusFold) (*Status, error) {
	s := statusFromState(view.Plan, view.State)
	s.Completed, s.Stages, s.Deliverable = CompletedNodes(view.Plan, view.State), StageResults(view.Plan, view.State, dir.Path()), NewDeliverable(view.Plan, view.State, dir.Path())
	s.Damage, s.Plugins, s.Findings, s.Health = view.damage, fold.plugins, fold.Findings, fold.health.withScore()
	s.Session, s.Dir, s.Events = session, dir.Path(), int64(view.log.Count)
	s.LastEvent, s.LastEventAt = string(view.log.Last.Type), view.log.Last.Time
	holder, held, err := store.LockHolder(i.env.Project, session)
	if err != nil {
		return nil, err
	}
	if held {
		s.Locked, s.PID = true, holder.PID
	}
	s.Questions = answerableQuestions(i.env.Config.Program, view, dir, held)
	s.Crashed = !held && s.Status == state.Running
	if view.refusal != nil && !held && !view.needsRepair {
		view.refusal = verification.RefuseChanged(context.Background(), dir, hclog.NewNullLogger()) // a process may have begun meanwhile
	}
	switch {
	case view.refusal != nil && !held && !view.needsRepair:
		s.Tampered, s.VerifyCommand = failure.From(view.refusal).Message, failure.Next("session verify", session).Command(i.env.Config.Program)
	case s.Status.Final() || s.Status == "" || held:
	case view.needsRepair:
		s.RepairCommand = failure.Next("repair", session).Command(i.env.Config.Program)
	default:
		s.ResumeCommand = ResumeCommand(i.env.Config.Program, session, view.Plan, view.State)
	}
	return s, nil
}

// statusFromState returns the parts of a status that follow from the state.
func statusFromState(p *plan.Plan, st state.State) *Status {
	s := &Status{
		Identity: Identity{RunID: st.RunID, Mode: st.Mode, Status: st.Status},
		Pause:    Pause{PauseKind: st.PauseKind, PauseCode: st.PauseCode, Reason: cmp.Or(st.Reason, st.PauseReason)},
		Position: Position{Run: st.Run, Runs: st.Runs, Node: st.At},
		Times:    Times{StartedAt: st.StartedAt, EndedAt: st.EndedAt},
		Failure:  st.Failure, Usage: st.Usage,
	}
	at := st.At
	if at == "" && len(p.Nodes) > 0 {
		last := slices.IndexFunc(p.Nodes, func(n plan.Node) bool { return n.ID == p.ExitAfter() })
		if last < 0 {
			last = len(p.Nodes) - 1
		}
		at = p.Nodes[last].Path
	}
	if n := p.Find(at); n != nil {
		s.Stage, s.Type, s.Max = n.ID, n.Ref, n.Termination.Max()
		if n.Provider != nil {
			s.Provider = n.Provider.Type
		}
	}
	s.Providers = providerStatuses(p.Find(at), st)
	s.StepsNode, s.Steps = stepStatuses(p, st)
	s.Cycles, s.Budgets = cycleStatuses(st), budgetStatuses(p, st)
	if s.Returns = st.Returns; s.Returns > 0 {
		s.MaxReturns = p.CycleLimits(nil).Session
	}
	l := st.Nodes[at].Loop
	s.Iteration, s.Attempt = l.Iteration, l.Attempt
	return s
}

// Sessions lists the project's sessions, the most recently changed first, from the beginning of their
// state.json. Unreadable sessions are listed without a status.
func (i Inspector) Sessions() ([]SessionInfo, error) {
	entries, err := i.env.Project.Sessions()
	if err != nil {
		return nil, err
	}
	infos := make([]SessionInfo, len(entries))
	for n, e := range entries {
		head, err := statefile.ReadHead(i.env.Project, e.Session)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			i.env.Log.Warn("cannot read the state of a session", "session", e.Session, "error", err)
		}
		_, held, err := store.LockHolder(i.env.Project, e.Session)
		if err != nil {
			return nil, err
		}
		status := state.Status(head.Status)
		infos[n] = SessionInfo{
			Session: e.Session, Status: status, Crashed: !held && status == state.Running, Stage: head.StageName(),
			Run: head.Run, Runs: head.Runs, Waiting: head.Waiting, Modified: e.Modified,
		}
	}
	return infos, nil
}
