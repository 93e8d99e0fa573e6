package outcome

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// stepsResult writes the result and the output of an iteration of a node with steps, composed of the results of its
// steps.
func (k *iterationEvaluation) stepsResult() (event.AttemptCompleteData, result.Reading, error) {
	n := k.State.Nodes[k.at.Outer()]
	r := result.Result{
		Work:      result.Work{ItemsCompleted: []string{}, FilesTouched: []string{}},
		Artifacts: result.Artifacts{Outputs: []json.RawMessage{}, Paths: []json.RawMessage{}},
		Signals:   result.Signals{Risk: "low"},
	}
	var output strings.Builder
	for _, id := range n.Order {
		step := n.Steps[id]
		if step.Status.Done() {
			r.Work.ItemsCompleted = append(r.Work.ItemsCompleted, id)
		}
		stepResult, err := k.stepResult(step)
		if err != nil {
			return event.AttemptCompleteData{}, result.Reading{}, err
		}
		for _, f := range stepResult.Work.FilesTouched {
			if !slices.Contains(r.Work.FilesTouched, f) {
				r.Work.FilesTouched = append(r.Work.FilesTouched, f)
			}
		}
		output.WriteString(stepText(step, stepResult.Summary))
	}
	r.Summary = fmt.Sprintf("%d of %d steps are done", len(r.Work.ItemsCompleted), len(n.Order))
	data := event.AttemptCompleteData{Decision: "continue"}
	var err error
	if data.Result, err = k.Dir.Write(k.iterationDir.Result(), r.JSON()); err != nil {
		return data, result.Reading{}, err
	}
	if output.Len() > 0 {
		ref, err := k.Dir.Write(k.iterationDir.Output(), []byte(output.String()))
		if err != nil {
			return data, result.Reading{}, err
		}
		data.Output = &ref
	}
	return data, result.Reading{Result: r, Decision: data.Decision}, nil
}

// stepText renders a step for the output.
func stepText(step state.Step, summary string) string {
	text := "- " + step.ID
	if step.Title != "" {
		text += " (" + step.Title + ")"
	}
	text += ": " + string(step.Status)
	if step.Reason != "" && !step.Status.Done() {
		text += ", " + step.Reason
	}
	if summary != "" {
		text += "\n  " + strings.ReplaceAll(strings.TrimSpace(summary), "\n", "\n  ")
	}
	return text + "\n"
}

// stepResult returns the result of the step's last iteration, empty if this visit has none.
func (k *iterationEvaluation) stepResult(step state.Step) (result.Result, error) {
	last := max(step.Last, step.Loop.Completed)
	if last == 0 {
		return result.Result{}, nil
	}
	at := k.at
	at.Step = step.ID
	n, err := store.NodeAt(k.Plan, at)
	if err != nil {
		return result.Result{}, err
	}
	text, err := k.Dir.Read(n.Iteration(last).Result(), result.MaxBytes)
	var known *failure.Error
	switch {
	case errors.Is(err, fs.ErrNotExist) && !errors.As(err, &known):
		return result.Result{}, nil
	case err != nil:
		return result.Result{}, err
	}
	r, err := result.Normalize(text, nil, true)
	if err != nil { // a failed attempt's result is not normalized
		return result.Result{}, nil //nolint:nilerr // the step then has no known result
	}
	return r.Result, nil
}

// failedStepReasons returns the node's failed steps, each with its reason.
func (k *iterationEvaluation) failedStepReasons() []string {
	if k.Node.Steps == nil {
		return nil
	}
	n := k.State.Nodes[k.at.Outer()]
	var all []string
	for _, id := range n.Order {
		if step := n.Steps[id]; step.Status == state.StepFailed {
			all = append(all, fmt.Sprintf("step %s failed: %s", id, step.Reason))
		}
	}
	return all
}
