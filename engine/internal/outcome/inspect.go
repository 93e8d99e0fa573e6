package outcome

import (
	"fmt"
	"maps"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/condition"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Inspect checks the input artifact of the request's node and returns input_checked, with the command's key. The event
// says whether the node can begin, is skipped, or cannot begin, and why.
func (s *Evaluator) Inspect(r kernel.EffectRequest) event.Event {
	in := &inspection{evaluation: s.newEvaluation(r)}
	if err := in.inspect(); err != nil {
		in.data.Failure = in.failureData(err)
		in.data.Failure.Escalate = true // a retry would get the same input
	}
	in.data.Warnings = in.warningTexts()
	return in.Event(event.InputChecked, in.data)
}

// inspection is the check of one input artifact.
type inspection struct {
	*evaluation
	input    artifact.NodeInput
	warnings []string
	data     event.InputCheckedData
}

// inspect checks whether the node can begin, then whether it is skipped, then writes its input.
func (in *inspection) inspect() error {
	var err error
	if in.input, err = artifact.ReadNodeInput(in.Dir, in.Plan, in.State, in.Node, in.at); err != nil {
		return err
	}
	in.data.From = in.input.From
	if err := in.checkRequired(); err != nil {
		return err
	}
	if in.skipHolds() {
		if err := in.skip(); err != nil || in.data.Skip {
			return err
		}
	}
	in.data.Input, err = in.writeInput(in.input)
	return err
}

// checkRequired checks that the input has the fields that the node requires, and warns of null fields.
func (in *inspection) checkRequired() error {
	began := in.State.Nodes[in.at.Outer()].From == ""
	missing, null := in.input.MissingFields(in.input.RequiredFields(in.Node.Requires, began))
	for _, field := range null {
		in.warnf("%s of %s, which %s requires, is null", field, in.input.Name(), in.Node.ID)
	}
	if len(missing) > 0 {
		return in.input.RequirementError(in.Node.ID, missing)
	}
	return nil
}

// skipHolds evaluates skip_when. An expression that cannot be evaluated does not hold.
func (in *inspection) skipHolds() bool {
	if in.Node.SkipWhen == "" {
		return false
	}
	c, err := condition.ParseSkip(in.Node.SkipWhen)
	if err != nil {
		in.warnf("skip_when of %s cannot be read, so that the node is not skipped: %v", in.Node.ID, err)
		return false
	}
	holds, err := c.Eval(in.input.Data)
	if err != nil {
		in.warnf("skip_when of %s cannot be evaluated, so that the node is not skipped: %v", in.Node.ID, err)
	}
	return holds
}

// skip marks the node as skipped. A node with a contract is skipped only if its input gives a valid artifact.
func (in *inspection) skip() error {
	if contract := in.Node.Artifact; contract != nil {
		data, err := in.skippedArtifact(contract)
		if err != nil {
			return err
		}
		faults, err := artifact.Faults(data, contract)
		if err != nil {
			return err
		}
		if len(faults) > 0 {
			in.warnf("skip_when of %s holds, but the fields of %s do not meet the contract, so that the node is not skipped: %s", in.Node.ID, in.input.Name(), faults[0])
			return nil
		}
		ref, err := artifact.Write(in.Dir, in.Plan, in.at, artifact.Artifact{
			Meta: artifact.NewMeta(in.Node, time.Now()), Data: data,
			Metadata: artifact.Metadata{PipelineID: in.State.RunID, Warnings: in.warningTexts()},
		})
		if err != nil {
			return err
		}
		in.data.Artifact = &ref
	}
	in.data.Skip, in.data.Reason = true, event.Truncate("skip_when holds: "+in.Node.SkipWhen, event.MaxReason)
	return nil
}

// skippedArtifact returns the artifact of a skipped node. For a node that wraps a target it contains the whole input,
// as if the output were empty.
func (in *inspection) skippedArtifact(contract *plan.Artifact) (map[string]any, error) {
	data := in.input.SkippedArtifact(contract)
	if in.Node.Wraps == nil {
		return data, nil
	}
	all, err := in.mapOutputs(nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(all, data)
	return all, nil
}

func (in *inspection) warnf(format string, args ...any) {
	in.warnings = append(in.warnings, fmt.Sprintf(format, args...))
}

// These constants bound the warnings in an event.
const (
	maxWarnings = 20
	maxWarning  = 300 // bytes
)

// warningTexts returns the warnings as written to the event and the artifact.
func (in *inspection) warningTexts() []string {
	var all []string
	for i, text := range in.warnings {
		if i == maxWarnings {
			all = append(all, fmt.Sprintf("and %d more", len(in.warnings)-i))
			break
		}
		all = append(all, event.Truncate(in.Redactor.Text(text), maxWarning))
	}
	return all
}
