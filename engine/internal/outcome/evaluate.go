package outcome

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Evaluate evaluates the iteration, writes its artifact and returns iteration_complete, with the command's key. It
// returns the event error if the artifact is missing or invalid and nothing else decides the outcome. For a node that
// wraps a pipeline it writes the artifact and returns artifact_written or error.
func (s *Evaluator) Evaluate(ctx context.Context, r kernel.EffectRequest) event.Event {
	w := s.newEvaluation(r)
	if r.Node.Kind == plan.KindPipeline {
		return w.completePipelineNode()
	}
	k := &iterationEvaluation{evaluation: w}
	d, err := k.evaluate(ctx)
	e := k.Event(event.IterationComplete, d)
	if err != nil {
		f := k.failureData(err)
		if k.iterationDir != "" {
			if err := k.WriteFailure(k.iterationDir, f); err != nil {
				k.Log.Error("could not write error.json of the iteration", "error", err)
			}
		}
		e = k.Event(event.Error, f)
	}
	e.Attempt = k.loop.Attempt
	return e
}

// evaluate reads the attempt, the facts and the artifact, and derives the outcome.
func (k *iterationEvaluation) evaluate(ctx context.Context) (event.IterationCompleteData, error) {
	if err := errors.Join(k.readAttempt(), k.readFacts()); err != nil {
		return event.IterationCompleteData{}, err
	}
	if err := k.readArtifact(); err != nil {
		return event.IterationCompleteData{}, err
	}
	o, message, err := k.outcome()
	if err != nil {
		return event.IterationCompleteData{}, err
	}
	d := effect.NewIterationComplete(progress.NodeName(k.Plan, k.State, k.Node), k.attemptData, k.reading)
	d.Settlement = event.Settlement{Outcome: string(o), Message: event.Truncate(message, event.MaxReason), FailedSteps: k.failedSteps()}
	if d.Artifact, err = k.writeArtifact(); err != nil {
		return d, err
	}
	if d.Artifact != nil {
		d.ArtifactRetries = k.loop.ArtifactRetries
	} else if o == plan.OutcomeEscalate {
		d.Partial = k.partialArtifact()
	}
	if d.Feedback, err = k.writeFeedback(o); err == nil && k.Plan.CycleLimits(k.Node).Identical > 0 {
		d.Content, err = k.content(ctx)
	}
	return d, err
}

// content returns a digest of the artifact's data and of the project's files, or of the data alone where no snapshot can be
// taken.
func (k *iterationEvaluation) content(ctx context.Context) (string, error) {
	data, err := json.Marshal(k.candidate.Data)
	if err != nil {
		return "", err
	}
	var tree string
	snapshots, err := k.snapshots(ctx, k.State.Session)
	if err == nil {
		tree, err = snapshots.Tree(ctx)
	}
	if err != nil {
		k.Log.Warn("passes of cycles are compared without the project's files", "node", k.Node.ID, "error", err)
	}
	return event.Digest(tree + string(data)), ctx.Err()
}

// readAttempt reads the attempt's result. A node with steps has no attempt of its own; its steps have the results.
func (k *iterationEvaluation) readAttempt() error {
	var err error
	if k.iterationDir, err = k.Iteration(); err != nil {
		return err
	}
	if k.Node.Steps != nil {
		k.attemptData, k.reading, err = k.stepsResult()
		return err
	}
	if k.loop.CompletedAttempt == nil {
		return fmt.Errorf("evaluate iteration %d of %s: it has no attempt", k.at.Iteration, k.Node.ID)
	}
	k.attemptData = *k.loop.CompletedAttempt
	k.reading, err = k.readResult()
	return err
}

func (k *iterationEvaluation) readFacts() error {
	k.facts = map[string]artifact.Facts{}
	for _, m := range k.loop.Measured {
		if m.Skipped {
			k.facts[m.ID] = artifact.Facts{Skipped: true}
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

// readArtifact finds the artifact, adds its measured fields, and validates it.
func (k *iterationEvaluation) readArtifact() error {
	contract := k.Node.Artifact
	if contract == nil {
		return nil
	}
	var err error
	k.candidate, err = k.agentArtifact(k.iterationDir, k.reading)
	k.faults = k.candidate.Faults
	if err != nil || k.candidate.Data == nil {
		return err
	}
	k.faults = append(k.faults, artifact.Fill(k.candidate.Data, contract, k.facts)...)
	faults, err := artifact.Faults(k.candidate.Data, contract)
	k.faults = append(k.faults, faults...)
	return err
}

// outcome returns the first outcome that applies (DIALECT B3): an escalation; a failed check or step; an error for a
// missing or invalid artifact; the agent's outcome; the artifact's verdict; success.
func (k *iterationEvaluation) outcome() (plan.Outcome, string, error) {
	claims := k.reading.Result.Claims
	claimed := claims.Claimed(k.attemptData.AgentDecision)
	why := cmp.Or(claims.Why(), k.reading.Reason, k.reading.Result.Summary)
	if claimed == plan.OutcomeEscalate {
		return claimed, cmp.Or(claims.Asking(), why), nil
	}
	if o, message := checksOutcome(k.loop.Measured); o != "" {
		return o, message, nil
	}
	if failed := k.failedStepReasons(); len(failed) > 0 {
		return plan.OutcomeFail, strings.Join(failed, "; "), nil
	}
	if k.Node.Artifact != nil && (k.candidate.From == "" || len(k.faults) > 0) {
		return "", "", k.artifactError()
	}
	if claims.Outcome != "" || claimed != plan.OutcomeSuccess {
		if claimed == plan.OutcomeSuccess {
			why = ""
		}
		return claimed, why, nil
	}
	if k.Node.Artifact != nil && k.Node.Artifact.Verdict != nil {
		v := k.Node.Artifact.Verdict
		if o, _ := artifact.VerdictOutcome(k.candidate.Data, v); o != plan.OutcomeSuccess {
			return o, cmp.Or(claims.Why(), fmt.Sprintf("%s is %s", v.Field, shortenLine(result.Lines(artifact.Field(k.candidate.Data, v.Field))))), nil
		}
	}
	return plan.OutcomeSuccess, "", nil
}

func (k *iterationEvaluation) artifactError() error {
	if k.Node.Wraps != nil && k.candidate.From != "" {
		return artifact.InvalidError("the output of the command", k.faults)
	}
	if k.candidate.From == "" {
		return k.artifactSources(k.iterationDir, k.reading).MissingError(k.Node.Artifact)
	}
	return k.candidate.InvalidError(k.faults)
}

// checksOutcome returns the outcome that the checks alone decide, "" if all passed. A failed check counts more than a
// check that could not run.
func checksOutcome(checks []state.Measurement) (o plan.Outcome, message string) {
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

// writeArtifact writes the artifact if it is valid, for any outcome.
func (k *iterationEvaluation) writeArtifact() (*event.Ref, error) {
	if k.Node.Artifact == nil || k.candidate.Data == nil || len(k.faults) > 0 {
		return nil, nil //nolint:nilnil // the outcome covers a missing artifact
	}
	a := artifact.Artifact{
		Meta: artifact.NewMeta(k.Node, time.Now()), Data: k.candidate.Data,
		Metadata: artifact.Metadata{
			PipelineID: k.State.RunID, Iteration: k.at.Iteration, TokensUsed: tokenCount(k.attemptData.Usage), DurationSeconds: float64(k.attemptData.DurationMS) / 1000,
			Warnings: k.State.Nodes[k.at.Outer()].Warnings,
		},
	}
	ref, err := artifact.Write(k.Dir, k.Plan, k.at, a)
	return &ref, err
}

// partialArtifact returns the incomplete artifact of an agent that escalates, nil for none.
func (k *iterationEvaluation) partialArtifact() *event.Ref {
	if k.candidate.From == "" || k.Node.Steps != nil {
		return nil
	}
	name := path.Join(path.Dir(k.iterationDir.Result()), k.candidate.From)
	ref, err := k.Dir.Ref(name)
	if err != nil {
		k.Log.Warn("cannot read the agent's artifact", "file", name, "error", err)
		return nil
	}
	return &ref
}

// tokenCount returns the sum of the input and output tokens, 0 if unknown.
func tokenCount(u *event.Usage) int64 {
	if u == nil {
		return 0
	}
	return *event.Sum(event.Sum(u.InputTokens, u.OutputTokens), new(int64))
}

// maxFailedSteps bounds the ids in the event, in bytes. If they exceed it, the event names no step, which means all.
const maxFailedSteps = 6 << 10

// failedSteps returns the steps that the next node has to repeat: the steps that the artifact names, else the failed
// steps of the result.
func (k *iterationEvaluation) failedSteps() []string {
	ids, _ := artifact.Texts(artifact.Field(k.candidate.Data, "failed_steps"))
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
