package outcome

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/attempt"
	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/schema"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// settling is one iteration that is being settled.
type settling struct {
	*work
	it      store.Iteration
	made    event.AttemptCompleteData
	reading result.Reading
	facts   map[string]artifact.Facts // by check, of those that were measured
	found   artifact.Found
	faults  []schema.Fault // of the artifact
}

// Settle settles the outcome of the iteration, keeps its artifact, and returns iteration_complete, with the command's
// key; or error where the artifact is missing or not what the contract says, and nothing else settles the outcome. Of a
// node that wraps a pipeline it makes the artifact, and returns artifact_written or error.
func (s *Evaluator) Evaluate(j Job) event.Event {
	w := s.work(j)
	if j.Node.Kind == plan.KindPipeline {
		return w.handOut()
	}
	k := &settling{work: w}
	d, err := k.settle()
	if err != nil {
		f := w.failureOf(err)
		if k.it != "" {
			w.keep(k.it.Error(), f)
		}
		e := event.New(event.Error, w.at.Cursor(), j.Command.Key, f)
		e.Attempt = w.loop.Attempt
		return e
	}
	e := event.New(event.IterationComplete, w.at.Cursor(), j.Command.Key, d)
	e.Attempt = w.loop.Attempt
	return e
}

// settle reads like its specification: what was done, what was measured, what was made, what comes of it.
func (k *settling) settle() (event.IterationCompleteData, error) {
	if err := errors.Join(k.readWork(), k.readFacts()); err != nil {
		return event.IterationCompleteData{}, err
	}
	if err := k.readArtifact(); err != nil {
		return event.IterationCompleteData{}, err
	}
	o, message, err := k.outcome()
	if err != nil {
		return event.IterationCompleteData{}, err
	}
	d := attempt.Completed(schedule.NodeName(k.Plan, k.State, k.Node), k.made, k.reading)
	d.Settlement = event.Settlement{Outcome: string(o), Message: event.Truncate(message, event.MaxReason), FailedSteps: k.failedSteps()}
	if d.Artifact, err = k.keepArtifact(); err != nil {
		return d, err
	}
	if d.Artifact != nil {
		d.Healed = k.loop.ArtifactRetries
	} else if o == plan.OutcomeEscalate {
		d.Partial = k.partial()
	}
	d.Feedback, err = k.keepFeedback(o)
	return d, err
}

// readWork reads what the attempt said. A node with steps has no attempt of its own: its steps say it.
func (k *settling) readWork() error {
	var err error
	if k.it, err = k.iteration(); err != nil {
		return err
	}
	if k.Node.Steps != nil {
		k.made, k.reading, err = k.pass()
		return err
	}
	if k.loop.Attempted == nil {
		return fmt.Errorf("settle iteration %d of %s: no attempt was made", k.at.Iteration, k.Node.ID)
	}
	k.made = *k.loop.Attempted
	k.reading, err = k.work.reading()
	return err
}

func (k *settling) readFacts() error {
	k.facts = map[string]artifact.Facts{}
	for _, m := range k.loop.Measured {
		if m.LeftOut {
			k.facts[m.ID] = artifact.Facts{LeftOut: true}
		}
		if m.Facts == nil {
			continue
		}
		raw, err := k.Dir.ReadRef(*m.Facts)
		if err != nil {
			return err
		}
		if k.facts[m.ID], err = artifact.ReadFacts(raw); err != nil {
			return err
		}
	}
	return nil
}

// readArtifact finds the artifact, puts into it what is carried over and what was measured, and says what is wrong with
// it. Of a node with steps nobody has to write one: what was measured may be all of it.
func (k *settling) readArtifact() error {
	contract := k.Node.Artifact
	if contract == nil {
		return nil
	}
	var err error
	if k.found, err = k.left(k.it, k.reading).Find(contract); err != nil {
		return err
	}
	if k.found.From == "" && k.Node.Steps != nil {
		k.found = artifact.Found{Data: map[string]any{}, From: "the steps"}
	}
	k.faults = k.found.Faults
	if k.found.Data == nil {
		return nil
	}
	if k.found.Data, err = k.mapped(k.found.Data); err != nil {
		return err
	}
	if err := k.complete(k.found.Data); err != nil {
		return err
	}
	k.faults = append(k.faults, artifact.Fill(k.found.Data, contract, k.facts)...)
	faults, err := artifact.Faults(k.found.Data, contract)
	k.faults = append(k.faults, faults...)
	return err
}

// outcome is the first that applies (DIALECT B3): a person is wanted; a check did not pass, or a step; the artifact is
// not what it should be, an error; what the agent says; what the artifact says; success.
func (k *settling) outcome() (plan.Outcome, string, error) {
	claims := k.reading.Result.Claims
	said := claims.Claimed(k.made.Ask)
	why := cmp.Or(claims.Why(), k.reading.Reason, k.reading.Result.Summary)
	if said == plan.OutcomeEscalate {
		return said, cmp.Or(claims.Asking(), why), nil
	}
	if o, message := measured(k.loop.Measured); o != "" {
		return o, message, nil
	}
	if failed := k.failed(); len(failed) > 0 {
		return plan.OutcomeFail, strings.Join(failed, "; "), nil
	}
	if k.Node.Artifact != nil && (k.found.From == "" || len(k.faults) > 0) {
		return "", "", k.badArtifact()
	}
	if claims.Outcome != "" || said != plan.OutcomeSuccess {
		if said == plan.OutcomeSuccess {
			why = ""
		}
		return said, why, nil
	}
	if k.Node.Artifact != nil && k.Node.Artifact.Verdict != nil {
		v := k.Node.Artifact.Verdict
		if o, _ := artifact.VerdictOf(k.found.Data, v); o != plan.OutcomeSuccess {
			return o, cmp.Or(claims.Why(), fmt.Sprintf("%s is %s", v.Field, short60(result.Lines(artifact.Field(k.found.Data, v.Field))))), nil
		}
	}
	return plan.OutcomeSuccess, "", nil
}

func (k *settling) badArtifact() error {
	if k.Node.Wraps != nil && k.found.From != "" {
		return artifact.InvalidError("what the command handed out", k.faults)
	}
	if k.found.From == "" {
		return k.left(k.it, k.reading).Missing(k.Node.Artifact)
	}
	return k.found.Invalid(k.faults)
}

// measured is the outcome that the checks alone settle, "" if all of them passed. That one did not pass is known
// whatever becomes of those that could not be made.
func measured(checks []state.Measurement) (o plan.Outcome, message string) {
	var failed, unknown []string
	for _, m := range checks {
		switch {
		case m.Failure != nil:
			unknown = append(unknown, fmt.Sprintf("check %s could not be made: %s", m.ID, m.Failure.Message))
		case !m.Passed:
			failed = append(failed, fmt.Sprintf("check %s did not pass: %s", m.ID, m.Reason))
		}
	}
	switch {
	case len(failed) > 0:
		return plan.OutcomeFail, strings.Join(append(failed, unknown...), "; ")
	case len(unknown) > 0:
		return plan.OutcomeError, strings.Join(unknown, "; ")
	default:
		return "", ""
	}
}

// keepArtifact writes the artifact if it is valid, whatever the outcome.
func (k *settling) keepArtifact() (*event.Ref, error) {
	if k.Node.Artifact == nil || k.found.Data == nil || len(k.faults) > 0 {
		return nil, nil //nolint:nilnil // no artifact is no error here: the outcome says what it means
	}
	a := artifact.Artifact{
		Meta: artifact.MetaOf(k.Node, time.Now()), Data: k.found.Data,
		Metadata: artifact.Metadata{
			PipelineID: k.State.RunID, Iteration: k.at.Iteration, TokensUsed: tokens(k.made.Usage), DurationSeconds: float64(k.made.DurationMS) / 1000,
			Warnings: k.State.Nodes[k.at.Outer()].Warnings,
		},
	}
	ref, err := artifact.Write(k.Dir, k.Plan, k.at, a)
	return &ref, err
}

// partial is the file with what an agent that needs a person has left of its artifact, nil where there is none.
func (k *settling) partial() *event.Ref {
	if k.found.From == "" || k.Node.Steps != nil {
		return nil
	}
	name := path.Join(path.Dir(k.it.Result()), k.found.From)
	ref, err := k.Dir.Ref(name)
	if err != nil {
		k.log.Warn("what the agent left cannot be read", "file", name, "error", err)
		return nil
	}
	return &ref
}

func tokens(u *event.Usage) (n int64) {
	if u == nil {
		return 0
	}
	for _, of := range []*int64{u.InputTokens, u.OutputTokens} {
		if of != nil {
			n += *of
		}
	}
	return n
}

// maxFailedSteps bounds the ids in the event, in bytes. Where they are more, none is named, which means all.
const maxFailedSteps = 6 << 10

// failedSteps are the steps of whoever works next that are to be made again: those that the artifact names, else the
// result.
func (k *settling) failedSteps() []string {
	ids, _ := artifact.Texts(artifact.Field(k.found.Data, "failed_steps"))
	if len(ids) == 0 {
		for id, status := range k.reading.Result.Steps {
			if status == result.StepFailed {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
	}
	var kept []string
	size := 0
	for _, id := range ids {
		if id == "" || slices.Contains(kept, id) {
			continue
		}
		if size += len(event.Truncate(id, event.MaxName)) + len(`"",`); size > maxFailedSteps {
			return nil
		}
		kept = append(kept, event.Truncate(id, event.MaxName))
	}
	return kept
}
