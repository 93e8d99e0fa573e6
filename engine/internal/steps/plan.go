package steps

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Planner plans the steps of one run. It is safe for concurrent use.
type Planner struct{ *effect.Env }

// These constants bound a step's texts in events, and the data of all steps, in bytes, so that a journal line holds it.
const (
	maxTitle  = 80
	maxAction = 64
	maxEvent  = event.MaxLine - 2<<10
)

// Steps returns steps_planned, with the command's key. Before that, it writes each step to a file.
func (p *Planner) Steps(r kernel.EffectRequest) event.Event {
	e := p.New("steps", r)
	var d event.StepsPlannedData
	steps, err := find(e)
	if err == nil {
		d.Steps, err = keep(e, steps)
	}
	if err != nil {
		d = event.StepsPlannedData{Failure: e.Failure(err, 0)}
	}
	return e.Event(event.StepsPlanned, d)
}

// find reads the steps from the newest artifact of the node that they come from.
func find(j *effect.Effect) ([]Step, error) {
	s := j.Node.Steps
	siblings, _ := j.Plan.Siblings(j.Node.Path)
	i := slices.IndexFunc(siblings, func(n plan.Node) bool { return n.ID == s.From })
	if i < 0 {
		return nil, failure.New(failure.Internal, "the plan has no node %q at the level of %s", s.From, j.Node.ID)
	}
	ref, made := j.State.NodeArtifact(siblings[i].Path)
	if !made {
		return nil, failure.New(failure.ResultMissing, "the steps of %s come from the artifact of %s, which does not exist", j.Node.ID, s.From).
			WithHint("run the node %s before this one, and declare its artifact: in the pipeline", s.From)
	}
	a, err := artifact.Load(j.Dir, ref)
	if err != nil {
		return nil, err
	}
	if contract := siblings[i].Artifact; contract != nil { // a node without a contract hands on another node's artifact
		if err := a.CheckVersion(contract); err != nil {
			return nil, err
		}
	}
	steps, err := Find(a.Data, s)
	if err != nil {
		return nil, failure.New(failure.ResultInvalid, "the artifact of %s has no steps that can be made: %w", s.From, err).
			WithHint("%s holds it; let %s make it again, or change the keys of steps in a new session", j.Dir.Abs(ref.Path), s.From)
	}
	return steps, nil
}

// keep writes each step to a file. The digest of the file is equal for equal items and shows changes.
func keep(j *effect.Effect, steps []Step) ([]event.StepData, error) {
	dir, err := store.NodeAt(j.Plan, j.Command.Location)
	if err != nil {
		return nil, err
	}
	list := make([]event.StepData, len(steps))
	for i, s := range steps {
		text, err := json.Marshal(s.Item) // sorted by key
		if err != nil {
			return nil, fmt.Errorf("render step %s: %w", s.ID, err)
		}
		ref, err := j.Dir.Write(dir.StepFile(s.ID), append(text, '\n'))
		if err != nil {
			return nil, err
		}
		list[i] = event.StepData{ID: s.ID, Title: event.Truncate(s.Title, maxTitle), Action: event.Truncate(s.Action, maxAction), DependsOn: s.DependsOn, Item: ref}
	}
	return fitting(list)
}

// fitting removes the titles if the list with them is too long for a line of the journal.
func fitting(list []event.StepData) ([]event.StepData, error) {
	size := eventSize(list)
	if size > maxEvent {
		for i := range list {
			list[i].Title = ""
		}
		size = eventSize(list)
	}
	if size > maxEvent {
		return nil, failure.New(failure.ResultInvalid, "the %d steps and their dependencies take %d bytes: want at most %d", len(list), size, maxEvent).
			WithHint("put more work into each step, shorten the ids, or remove dependencies")
	}
	return list, nil
}

func eventSize(list []event.StepData) int {
	text, err := json.Marshal(list)
	if err != nil { // texts and numbers always marshal
		panic(fmt.Sprintf("render steps: %v", err))
	}
	return len(text)
}
