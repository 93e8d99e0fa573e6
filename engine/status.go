package engine

import (
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/statefile"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/lock"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// SessionInfo is one line of a list of sessions.
type SessionInfo struct {
	Session string       `json:"session"`
	Status  state.Status `json:"status"`
	Crashed bool         `json:"crashed,omitempty"` // running by its state, but nobody holds it
	Stage   string       `json:"stage,omitempty"`   // the node it is at
	Run     int          `json:"run,omitempty"`     // of the whole pipeline, 0 where it runs once
	Runs    int          `json:"runs,omitempty"`
	// Waiting are the ids of the questions that a person has not answered yet.
	Waiting  []string  `json:"waiting,omitempty"`
	Modified time.Time `json:"modified"`
}

// Status is what is known of a session.
type Status struct {
	Session string       `json:"session"`
	RunID   string       `json:"run_id"`
	Mode    string       `json:"mode"`
	Status  state.Status `json:"status"`
	// Crashed: the state says running, but no kernel holds the session.
	Crashed bool `json:"crashed,omitempty"`
	// Held: a kernel holds the session. PID is its process, 0 if that is not known.
	Held      bool            `json:"held,omitempty"`
	PID       int             `json:"pid,omitempty"`
	PauseKind state.PauseKind `json:"pause_kind,omitempty"`
	PauseCode string          `json:"pause_code,omitempty"` // of what made a person needed
	Reason    string          `json:"reason,omitempty"`
	Run       int             `json:"run,omitempty"`  // of the whole pipeline, 0 where it runs once
	Runs      int             `json:"runs,omitempty"` // how often it does
	Node      string          `json:"node,omitempty"` // path of the node it is at
	Stage     string          `json:"stage,omitempty"`
	Type      string          `json:"type,omitempty"` // the stage's name
	Provider  string          `json:"provider,omitempty"`
	Iteration int             `json:"iteration"`
	Max       int             `json:"max_iterations"`
	Attempt   int             `json:"attempt,omitempty"`
	Completed []string        `json:"stages_completed"`
	Stages    []StageResult   `json:"stages"` // all nodes of the plan, in its order
	// Deliverable is what it has delivered, nil before it is completed, and where there is nothing.
	Deliverable *Deliverable       `json:"deliverable,omitempty"`
	Events      int64              `json:"events"`
	LastEvent   string             `json:"last_event,omitempty"`
	LastEventAt time.Time          `json:"last_event_at,omitzero"`
	StartedAt   time.Time          `json:"started_at,omitzero"`
	EndedAt     *time.Time         `json:"ended_at,omitempty"`
	Failure     *event.FailureData `json:"error,omitempty"`
	Usage       event.Usage        `json:"usage"`
	Dir         string             `json:"dir"`
	// Providers are those of the parallel block that it is at, in the block's order.
	Providers []ProviderStatus `json:"providers,omitempty"`
	// Plugins are the processes that its last kernel started, each with its isolation.
	Plugins []event.PluginData `json:"plugins,omitempty"`
	// Steps are those of the node that it is at, or else of the last node that has steps, whose id is StepsOf.
	StepsOf string       `json:"steps_of,omitempty"`
	Steps   []StepStatus `json:"steps,omitempty"`
	// Cycles are the counted edges taken so far, by name; Returns are all returns of the run, MaxReturns how many there
	// may be.
	Cycles     []CycleStatus `json:"cycles,omitempty"`
	Returns    int           `json:"returns,omitempty"`
	MaxReturns int           `json:"max_returns,omitempty"`
	// Budgets are the ceilings of the session and of its nodes.
	Budgets []BudgetStatus `json:"budgets,omitempty"`
	// Questions are those that it has open.
	Questions []Question `json:"questions,omitempty"`
	// Survivors are processes that were found outside the groups of their plugins, and ended, in this run: those of a
	// killed kernel when its session was taken up, those of a plugin when it ended.
	Survivors []Survivor `json:"survivors,omitempty"`
	// Late are deliveries of attempts that were given up, which were refused; Superseded are attempts that were made again,
	// with what changed in the workspace meanwhile. Of each the last 50 of the run.
	Late       []Late       `json:"late,omitempty"`
	Superseded []Superseded `json:"superseded,omitempty"`
	// Secrets were found in files that agents of the run wrote.
	Secrets []event.SecretFoundData `json:"secrets_found,omitempty"`
	// Damage says what of the session's files could not be read, "" for nothing.
	Damage string `json:"damage,omitempty"`
	// ResumeCommand goes on with the session, "" where there is nothing to go on with. RepairCommand is there
	// instead where the damage leaves a doubt that a person has to settle first.
	ResumeCommand string `json:"resume_command,omitempty"`
	RepairCommand string `json:"repair_command,omitempty"`
	// Health is what [Engine.Health] says of it.
	Health Health `json:"health"`
}

// Survivor is a process that was left behind.
type Survivor = process.Survivor

// Status says how a session stands, from its journal. It takes no lock and starts nothing. The error
// wraps [ErrNoSession] if there is none.
func (e *Engine) Status(session string) (*Status, error) {
	var t told
	dir, k, err := e.look(session, func(*plan.Plan) func(event.Event) { return t.take })
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return e.statusOf(session, dir, k, &t)
}

// statusOf is how a session stands that was looked at.
func (e *Engine) statusOf(session string, dir *store.Dir, k known, t *told) (*Status, error) {
	s := describe(k.plan, k.state)
	s.Stages, s.Deliverable = stageResults(k.plan, k.state, dir.Path()), deliverable(k.plan, k.state, dir.Path())
	s.Damage, s.Plugins, s.Secrets, s.Survivors = k.damage, t.plugins, t.secrets, t.survivors
	s.Late, s.Superseded = t.givenUp.of(k.plan)
	s.Health = t.health.judged()
	s.Session, s.Dir, s.Events = session, dir.Path(), int64(k.log.Count)
	s.LastEvent, s.LastEventAt = string(k.log.Last.Type), k.log.Last.Time
	holder, held, err := lock.Holder(e.project, session)
	if err != nil {
		return nil, err
	}
	if held {
		s.Held, s.PID = true, holder.PID
	}
	s.Questions = openQuestions(k, dir, held)
	s.Crashed = !held && s.Status == state.Running
	switch {
	case s.Status.Final() || s.Status == "" || held:
	case k.doubtful:
		s.RepairCommand = "agent-pipelines repair " + session
	default:
		s.ResumeCommand = resumeCommand(session, k.plan, k.state)
	}
	return s, nil
}

func (e *Engine) open(session string) (*store.Dir, error) {
	if err := store.CheckSession(session); err != nil {
		return nil, err
	}
	return e.project.Open(session)
}

// describe turns a state into what people ask about.
func describe(p *plan.Plan, st state.State) *Status {
	s := &Status{
		RunID: st.RunID, Mode: st.Mode, Status: st.Status, PauseKind: st.PauseKind, PauseCode: st.PauseCode, Reason: orElse(st.Reason, st.PauseReason),
		Run: st.Run, Runs: st.Runs, Node: st.At, Completed: completed(p, st), StartedAt: st.StartedAt, EndedAt: st.EndedAt, Failure: st.Failure, Usage: st.Usage,
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
	s.Providers = providersOf(p.Find(at), st)
	s.StepsOf, s.Steps = stepStatuses(p, st)
	s.Cycles, s.Budgets = cyclesOf(st), budgets(p, st)
	if s.Returns = st.Returns; s.Returns > 0 {
		s.MaxReturns = p.CyclesOf(nil).Session
	}
	l := st.Nodes[at].Loop
	s.Iteration, s.Attempt = l.Iteration, l.Attempt
	return s
}

// Sessions lists the project's sessions, the most recently changed first, from the heads of their
// state.json. Those that cannot be read are listed without a status.
func (e *Engine) Sessions() ([]SessionInfo, error) {
	heads, err := statefile.Heads(e.project, 0, nil)
	if err != nil {
		return nil, err
	}
	infos := make([]SessionInfo, 0, len(heads))
	for _, h := range heads {
		if h.Err != nil {
			e.log.Warn("state of session cannot be read", "session", h.Session, "error", h.Err)
		}
		_, held, err := lock.Holder(e.project, h.Session)
		if err != nil {
			return nil, err
		}
		infos = append(infos, SessionInfo{
			Session: h.Session, Status: h.Status, Crashed: !held && h.Status == state.Running, Stage: h.Stage,
			Run: h.Run, Runs: h.Runs, Waiting: h.Waiting, Modified: h.Modified,
		})
	}
	return infos, nil
}
