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

// Evaluator runs the checks of one run and evaluates its iterations. Plan, Project, Dir, Actions and Log are
// required. It is safe for concurrent use.
type Evaluator struct {
	Plan    *plan.Plan
	Project *store.Project
	Dir     *store.Dir
	Actions hook.Actions
	Log     hclog.Logger
	// Redactor removes secrets from the answers of checks and from artifacts. Default: a redactor without values.
	Redactor *redact.Redactor
	// Uncharged reports whether an error means that the process of another call took a check down. Default: never.
	Uncharged func(error) bool
}

// Job is a check to run or an iteration to evaluate.
type Job struct {
	Command schedule.Command
	Node    *plan.Node
	State   state.State
}

// evaluation performs one job.
type evaluation struct {
	*Evaluator
	Job
	at   event.Location
	loop state.Loop
	log  hclog.Logger
}

func (s *Evaluator) newEvaluation(j Job) *evaluation {
	at := j.Command.Location
	return &evaluation{
		Evaluator: s, Job: j, at: at, loop: j.State.LoopAt(at),
		log: s.Log.With("session", j.State.Session, "stage", j.Node.ID, "iteration", at.Iteration),
	}
}

// iteration returns the directory of the job's iteration.
func (w *evaluation) iteration() (store.Iteration, error) {
	n, err := store.NodeAt(w.Plan, w.at)
	return n.Iteration(w.at.Iteration), err
}

// readResult reads the attempt's normalized result.
func (w *evaluation) readResult() (result.Reading, error) {
	text, err := w.Dir.ReadRef(w.loop.CompletedAttempt.Result)
	if err != nil {
		return result.Reading{}, err
	}
	return result.Normalize(text, nil, true)
}

// artifactSources returns the sources of the attempt's artifact.
func (w *evaluation) artifactSources(it store.Iteration, r result.Reading) artifact.Sources {
	l := artifact.Sources{Dir: w.Dir, Iteration: it, ResultMember: r.Result.Artifact}
	if w.loop.CompletedAttempt != nil {
		l.Output = w.loop.CompletedAttempt.Output
	}
	return l
}

// failureData returns an error of the job as event data.
func (w *evaluation) failureData(err error) *event.FailureData {
	d := event.NewFailureData(err)
	d.Node, d.Stage, d.Iteration, d.Attempt = w.Node.ID, w.Node.ID, w.at.Iteration, w.loop.Attempt
	d.ResumeCommand = "agent-pipelines resume " + w.State.Session
	if bad := (*artifact.ContractError)(nil); errors.As(err, &bad) {
		d.Faults = artifact.FaultData(bad.Faults)
	}
	d = redaction.Failure(w.Redactor, d)
	return &d
}

// writeJSON writes a value to a file of the iteration. An error is only logged.
func (w *evaluation) writeJSON(name string, v any) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		err = w.Dir.Replace(name, append(text, '\n'))
	}
	if err != nil {
		w.log.Error("record failure beside the iteration", "error", err)
	}
}
