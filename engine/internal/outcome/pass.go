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

// pass is what a pass over the steps of the node says: a result and an output that are made of theirs.
func (k *settling) pass() (event.AttemptCompleteData, result.Reading, error) {
	n := k.State.Nodes[k.at.Outer()]
	r := result.Result{
		Work:      result.Work{ItemsCompleted: []string{}, FilesTouched: []string{}},
		Artifacts: result.Artifacts{Outputs: []json.RawMessage{}, Paths: []json.RawMessage{}},
		Signals:   result.Signals{Risk: "low"},
	}
	var said strings.Builder
	for _, id := range n.Order {
		step := n.Steps[id]
		if step.Status.Done() {
			r.Work.ItemsCompleted = append(r.Work.ItemsCompleted, id)
		}
		of, err := k.resultOf(step)
		if err != nil {
			return event.AttemptCompleteData{}, result.Reading{}, err
		}
		for _, f := range of.Work.FilesTouched {
			if !slices.Contains(r.Work.FilesTouched, f) {
				r.Work.FilesTouched = append(r.Work.FilesTouched, f)
			}
		}
		said.WriteString(told(step, of.Summary))
	}
	r.Summary = fmt.Sprintf("%d of %d steps are done", len(r.Work.ItemsCompleted), len(n.Order))
	made := event.AttemptCompleteData{Decision: "continue"}
	var err error
	if made.Result, err = k.Dir.Write(k.it.Result(), r.JSON()); err != nil {
		return made, result.Reading{}, err
	}
	if said.Len() > 0 {
		ref, err := k.Dir.Write(k.it.Output(), []byte(said.String()))
		if err != nil {
			return made, result.Reading{}, err
		}
		made.Output = &ref
	}
	return made, result.Reading{Result: r, Decision: made.Decision}, nil
}

// told is a step in the output of the pass.
func told(step state.Step, summary string) string {
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

// resultOf is the result of the step's last iteration, empty where there is none in this visit.
func (k *settling) resultOf(step state.Step) (result.Result, error) {
	last := max(step.Last, step.Loop.Completed)
	if last == 0 {
		return result.Result{}, nil
	}
	at := k.at
	at.Step = step.ID
	n, err := store.At(k.Plan, at)
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
	if err != nil { // that of an attempt that failed: nobody normalized it
		return result.Result{}, nil //nolint:nilerr // nothing is known of the step then
	}
	return r.Result, nil
}

// failed are the node's steps that failed, each with why.
func (k *settling) failed() []string {
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
