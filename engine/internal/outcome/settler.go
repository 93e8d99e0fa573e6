package outcome

import (
	"encoding/json"
	"errors"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/hook"
	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Settler makes the checks of one run and settles its iterations. All fields but those with a default are needed. It is
// safe for concurrent use.
type Evaluator struct {
	Plan    *plan.Plan
	Project *store.Project
	Dir     *store.Dir
	Actions hook.Actions
	Log     hclog.Logger
	// Redactor takes the secrets out of what checks say and out of artifacts. Default: one that knows no values.
	Redactor *redact.Redactor
	// Spared reports whether an error means that a check fell with another call's process. Default: never.
	Uncharged func(error) bool
}

// Job is a check to be made, or an iteration to be settled.
type Job struct {
	Command schedule.Command
	Node    *plan.Node
	State   state.State
}

// work is one job.
type work struct {
	*Evaluator
	Job
	at   event.Location
	loop state.Loop
	log  hclog.Logger
}

func (s *Evaluator) work(j Job) *work {
	at := j.Command.Location
	return &work{
		Evaluator: s, Job: j, at: at, loop: j.State.LoopAt(at),
		log: s.Log.With("session", j.State.Session, "stage", j.Node.ID, "iteration", at.Iteration),
	}
}

// iteration is the folder of the iteration that the job is about.
func (w *work) iteration() (store.Iteration, error) {
	n, err := store.At(w.Plan, w.at)
	return n.Iteration(w.at.Iteration), err
}

// reading is the result of the attempt, as it was normalized.
func (w *work) reading() (result.Reading, error) {
	text, err := w.Dir.ReadRef(w.loop.Attempted.Result)
	if err != nil {
		return result.Reading{}, err
	}
	return result.Normalize(text, nil, true)
}

// left is what the attempt left behind.
func (w *work) left(it store.Iteration, r result.Reading) artifact.Left {
	l := artifact.Left{Dir: w.Dir, Iteration: it, Written: r.Result.Artifact}
	if w.loop.Attempted != nil {
		l.Output = w.loop.Attempted.Output
	}
	return l
}

// failureOf is a failure of the job as events carry it.
func (w *work) failureOf(err error) *event.FailureData {
	d := event.FailureOf(err)
	d.Node, d.Stage, d.Iteration, d.Attempt = w.Node.ID, w.Node.ID, w.at.Iteration, w.loop.Attempt
	d.ResumeCommand = "agent-pipelines resume " + w.State.Session
	if bad := (*artifact.Bad)(nil); errors.As(err, &bad) {
		d.Faults = artifact.FaultData(bad.Faults)
	}
	d = redaction.Failure(w.Redactor, d)
	return &d
}

// keep writes what is worth reading beside the iteration; what fails of it is only told.
func (w *work) keep(name string, v any) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = w.Dir.Replace(name, append(text, '\n'))
	}
	if err != nil {
		w.log.Error("record failure beside the iteration", "error", err)
	}
}
