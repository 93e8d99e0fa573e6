package recovery

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// summary sums up events of either engine by their common keys (REQUIREMENTS U048).
type summary struct {
	runID          string // "" if the events have no run id
	mode, pipeline string
	started        time.Time // start of the session, or of work after its end
	run, runs      int       // of the whole pipeline, where it runs several times
	last           time.Time
	at             string // path of the node named last
	nodes          map[string]*work
	complete       bool
	aborted        bool
	reason         string
}

// work is the progress of a node, or of a provider's stage in a parallel block.
type work struct {
	visit     int
	started   time.Time
	ended     time.Time
	iteration int // begun last
	completed int
	done      bool
	reason    string
	failed    *event.FailureData
	providers map[string]*branch
}

// branch is a provider of a parallel block.
type branch struct {
	started time.Time
	stage   int
	stages  map[int]*work
	done    bool
	failed  *event.FailureData
}

// facts are the members of an event's data that a summary reads.
type facts struct {
	Mode       string `json:"mode"`
	Pipeline   string `json:"pipeline"`
	Status     string `json:"status"`
	Reason     string `json:"reason"`
	Message    string `json:"message"`
	Stage      string `json:"stage"`
	StageIndex *int   `json:"stage_index"`
	ExitCode   *int   `json:"exit_code"`
	N          int    `json:"n"`
	Runs       int    `json:"runs"`
}

// read decodes an event's data leniently: a member of another type counts as absent.
func read(data json.RawMessage) (f facts) {
	_ = json.Unmarshal(data, &f)
	return f
}

func newSummary(events []event.Event) *summary {
	o := &summary{nodes: map[string]*work{}}
	runID := ""
	for _, e := range events {
		o.apply(e)
		runID = cmp.Or(e.RunID, runID)
	}
	o.runID = runID
	return o
}

func (o *summary) apply(e event.Event) {
	f := read(e.Data)
	if o.started.IsZero() {
		o.started = e.Time
	}
	o.last = e.Time
	switch e.Type {
	case event.SessionStart:
		*o = summary{mode: f.Mode, pipeline: f.Pipeline, started: e.Time, last: e.Time, nodes: map[string]*work{}}
		if f.Runs > 1 {
			o.run, o.runs = 1, f.Runs
		}
	case event.RunStart:
		o.inRun(f.N)
	case event.SessionComplete:
		o.complete, o.reason = true, f.Reason
	case event.SessionAborted:
		o.aborted, o.reason = true, f.Reason
	case event.NodeStart, event.IterationStart, event.AttemptStart, event.Retry, event.IterationComplete, event.Decision, event.NodeComplete,
		event.ParallelProviderStart, event.ParallelProviderComplete, event.ParallelProviderFailed, event.Error:
		if e.Cursor == nil || e.Cursor.NodePath == "" || e.Cursor.Iteration < 0 || e.Cursor.Iteration > maxIteration {
			return
		}
		o.restart(e)
		o.inRun(runNumber(e))
		o.at = e.Cursor.NodePath
		if e.Cursor.Provider != "" {
			o.node(e).provider(e, f)
			return
		}
		o.node(e).apply(e, f)
	}
}

// maxIteration is the largest accepted iteration.
const maxIteration = 1 << 30

// restart starts a new summary if work follows the end of the session: the Bash engine runs a finished session again in
// the same journal, without a session_start.
func (o *summary) restart(e event.Event) {
	if o.complete && (e.Type == event.NodeStart || e.Type == event.IterationStart) {
		*o = summary{mode: o.mode, pipeline: o.pipeline, started: e.Time, last: e.Time, nodes: map[string]*work{}}
	}
}

// inRun starts the summary of a later run of the whole pipeline, without the nodes of earlier runs.
func (o *summary) inRun(run int) {
	if run <= max(o.run, 1) || run > maxIteration {
		return
	}
	*o = summary{
		mode: o.mode, pipeline: o.pipeline, started: o.started, last: o.last, run: run, runs: max(o.runs, run), nodes: map[string]*work{},
	}
}

// runNumber returns the run of the whole pipeline that an event belongs to, 0 if the event does not say it. Inside a
// nested pipeline a key counts the nested runs.
func runNumber(e event.Event) int {
	_, at, _, ok := e.Key.Parse()
	if !ok || strings.Contains(at.Outer(), ".") {
		return e.Cursor.Run
	}
	return max(e.Cursor.Run, at.Run)
}

// node returns the work at the event's node. A later visit replaces the work of the visit before it.
func (o *summary) node(e event.Event) *work {
	visit := max(e.Cursor.Visit, 1)
	w := o.nodes[e.Cursor.NodePath]
	if w == nil || e.Cursor.Visit > w.visit {
		w = &work{visit: visit, started: e.Time, providers: map[string]*branch{}}
		o.nodes[e.Cursor.NodePath] = w
	}
	return w
}

func (w *work) apply(e event.Event, f facts) {
	i := e.Cursor.Iteration
	switch e.Type {
	case event.NodeStart:
		if w.done { // a second visit: this event has no visit number, and the Bash engine makes only one visit
			visit := w.visit
			if e.RunID != "" {
				visit++
			}
			*w = work{visit: visit, started: e.Time, providers: map[string]*branch{}}
		}
		w.failed = nil
	case event.IterationStart, event.AttemptStart, event.Retry:
		w.iteration, w.completed, w.failed = max(w.iteration, i), max(w.completed, i-1), nil
	case event.IterationComplete, event.Decision:
		w.iteration, w.completed = max(w.iteration, i), max(w.completed, i)
	case event.NodeComplete:
		w.ended, w.reason = e.Time, f.Reason
		if w.done = f.Status != "failed"; w.done {
			w.completed = max(w.completed, i)
		} else {
			w.failed = failed(f, i)
		}
	case event.Error:
		if e.Key == "" {
			w.failed = failed(f, i)
		}
	}
}

func failed(f facts, iteration int) *event.FailureData {
	return &event.FailureData{
		Code: failure.Internal.Code(), ErrorType: string(failure.Internal), Message: cmp.Or(f.Message, f.Reason, "it failed"),
		Node: f.Stage, Stage: f.Stage, Iteration: iteration, ExitCode: f.ExitCode,
	}
}

// provider applies an event of a provider in a parallel block.
func (w *work) provider(e event.Event, f facts) {
	b := w.providers[e.Cursor.Provider]
	if b == nil || e.Type == event.ParallelProviderStart {
		b = &branch{started: e.Time, stages: map[int]*work{}}
		w.providers[e.Cursor.Provider] = b
	}
	if f.StageIndex != nil && *f.StageIndex >= 0 && *f.StageIndex <= maxIteration {
		b.stage = max(b.stage, *f.StageIndex)
	}
	if b.stages[b.stage] == nil {
		b.stages[b.stage] = &work{visit: 1, started: e.Time}
	}
	switch e.Type {
	case event.ParallelProviderComplete:
		b.done, b.failed = f.Status != "failed", nil
	case event.ParallelProviderFailed:
		b.failed = failed(f, 0)
	case event.Error:
		if e.RunID == "" || e.Key == "" { // else this engine may repeat the attempt
			b.failed = failed(f, e.Cursor.Iteration)
		}
	default:
		b.stages[b.stage].apply(e, f)
	}
}
