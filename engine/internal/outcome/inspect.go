package outcome

import (
	"fmt"
	"maps"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/kernel/condition"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Inspect looks at the input artifact of the node that the job is about, and returns input_checked, with the command's
// key: the node can begin with it, is skipped because of it, or cannot begin, and why.
func (s *Evaluator) Inspect(j Job) event.Event {
	in := &inspection{work: s.work(j)}
	if err := in.inspect(); err != nil {
		in.data.Failure = in.failureOf(err)
		in.data.Failure.Escalate = true // its input would be the same
	}
	in.data.Warnings = in.told()
	return event.New(event.InputChecked, in.at.Cursor(), j.Command.Key, in.data)
}

// inspection is one look at an input artifact.
type inspection struct {
	*work
	given    artifact.Effective
	warnings []string
	data     event.InputCheckedData
}

// inspect is first whether the node can begin, then whether it need not, then what it begins with.
func (in *inspection) inspect() error {
	var err error
	if in.given, err = artifact.EffectiveInput(in.Dir, in.Plan, in.State, in.Node, in.at); err != nil {
		return err
	}
	in.data.From = in.given.From
	if err := in.require(); err != nil {
		return err
	}
	if in.holds() {
		if err := in.skip(); err != nil || in.data.Skip {
			return err
		}
	}
	in.data.Input, err = in.handIn(in.given)
	return err
}

// require holds the input against requires of the node.
func (in *inspection) require() error {
	began := in.State.Nodes[in.at.Outer()].From == ""
	missing, null := in.given.Lacks(in.given.Demanded(in.Node.Requires, began))
	for _, field := range null {
		in.warnf("%s of %s, which %s requires, is null", field, in.given.Name(), in.Node.ID)
	}
	if len(missing) > 0 {
		return in.given.Unfit(in.Node.ID, missing)
	}
	return nil
}

// holds evaluates skip_when. What cannot be evaluated does not hold.
func (in *inspection) holds() bool {
	if in.Node.SkipWhen == "" {
		return false
	}
	c, err := condition.ParseSkip(in.Node.SkipWhen)
	if err != nil {
		in.warnf("skip_when of %s cannot be read, so that the node is not skipped: %v", in.Node.ID, err)
		return false
	}
	holds, err := c.Eval(in.given.Data)
	if err != nil {
		in.warnf("skip_when of %s cannot be evaluated, so that the node is not skipped: %v", in.Node.ID, err)
	}
	return holds
}

// skip passes the node over. Where it has a contract, there has to be an artifact that fits it: if what the input has
// does not come to one, the node works after all.
func (in *inspection) skip() error {
	if contract := in.Node.Artifact; contract != nil {
		data, err := in.passed(contract)
		if err != nil {
			return err
		}
		faults, err := artifact.Faults(data, contract)
		if err != nil {
			return err
		}
		if len(faults) > 0 {
			in.warnf("skip_when of %s holds, but what %s has is not what the contract says, so that the node is not skipped: %s", in.Node.ID, in.given.Name(), faults[0])
			return nil
		}
		ref, err := artifact.Write(in.Dir, in.Plan, in.at, artifact.Artifact{
			Meta: artifact.MetaOf(in.Node, time.Now()), Data: data,
			Metadata: artifact.Metadata{PipelineID: in.State.RunID, Warnings: in.told()},
		})
		if err != nil {
			return err
		}
		in.data.Artifact = &ref
	}
	in.data.Skip, in.data.Reason = true, event.Truncate("skip_when holds: "+in.Node.SkipWhen, event.MaxReason)
	return nil
}

// passed is the artifact of a node that is skipped. That of one that wraps something has all that it was given, as if what
// it wraps had handed out nothing.
func (in *inspection) passed(contract *plan.Artifact) (map[string]any, error) {
	data := in.given.Passed(contract)
	if in.Node.Wraps == nil {
		return data, nil
	}
	given, err := in.mapped(nil)
	if err != nil {
		return nil, err
	}
	maps.Copy(given, data)
	return given, nil
}

func (in *inspection) warnf(format string, args ...any) {
	in.warnings = append(in.warnings, fmt.Sprintf(format, args...))
}

// Bounds of the warnings in an event.
const (
	maxWarnings = 20
	maxWarning  = 300 // bytes
)

// told are the warnings as an event and an artifact have them.
func (in *inspection) told() []string {
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
