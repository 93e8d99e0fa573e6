package steps

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Planner plans the steps of one run. All fields are needed. It is safe for concurrent use.
type Planner struct {
	Plan *plan.Plan
	Dir  *store.Dir
}

// Job is a node whose steps are wanted.
type Job struct {
	Command schedule.Command
	Node    *plan.Node
	State   state.State
}

// Bounds of a step's texts in events, in bytes, and of all steps: a line of the journal must hold them.
const (
	maxTitle  = 80
	maxAction = 64
	maxEvent  = event.MaxLine - 2<<10
)

// Steps returns steps_planned, with the command's key. Each step is written to a file before.
func (p *Planner) Steps(j Job) event.Event {
	var d event.StepsPlannedData
	steps, err := p.find(j)
	if err == nil {
		d.Steps, err = p.keep(j, steps)
	}
	if err != nil {
		d = event.StepsPlannedData{Failure: newFailure(j, err)}
	}
	return event.New(event.StepsPlanned, j.Command.Location.Cursor(), j.Command.Key, d)
}

// find reads the steps out of the newest artifact of the node that they come from.
func (p *Planner) find(j Job) ([]Step, error) {
	s := j.Node.Steps
	siblings, _ := p.Plan.Siblings(j.Node.Path)
	i := slices.IndexFunc(siblings, func(n plan.Node) bool { return n.ID == s.From })
	if i < 0 {
		return nil, failure.New(failure.Internal, "the plan has no node %q beside %s", s.From, j.Node.ID)
	}
	ref, made := j.State.ArtifactOf(siblings[i].Path)
	if !made {
		return nil, failure.New(failure.ResultMissing, "the steps of %s come from the artifact of %s, and it has made none", j.Node.ID, s.From).
			WithHint("the node %s has to run before, and to have artifact: in the pipeline", s.From)
	}
	a, err := artifact.Load(p.Dir, ref)
	if err != nil {
		return nil, err
	}
	if contract := siblings[i].Artifact; contract != nil { // else it hands on what another one made
		if err := a.CheckVersion(contract); err != nil {
			return nil, err
		}
	}
	steps, err := Find(a.Data, s)
	if err != nil {
		return nil, failure.New(failure.ResultInvalid, "the artifact of %s has no steps that can be made: %w", s.From, err).
			WithHint("%s holds it; let %s make it again, or change steps.path and its neighbours in a new session", p.Dir.Abs(ref.Path), s.From)
	}
	return steps, nil
}

// keep writes the steps. The digest of a step's file is equal for equal items and shows changes.
func (p *Planner) keep(j Job, steps []Step) ([]event.StepData, error) {
	dir, err := store.NodeAt(p.Plan, j.Command.Location)
	if err != nil {
		return nil, err
	}
	list := make([]event.StepData, len(steps))
	for i, s := range steps {
		text, err := json.Marshal(s.Item) // sorted by key
		if err != nil {
			return nil, fmt.Errorf("render step %s: %w", s.ID, err)
		}
		ref, err := p.Dir.Write(dir.StepFile(s.ID), append(text, '\n'))
		if err != nil {
			return nil, err
		}
		list[i] = event.StepData{ID: s.ID, Title: event.Truncate(s.Title, maxTitle), Action: event.Truncate(s.Action, maxAction), DependsOn: s.DependsOn, Item: ref}
	}
	return fitting(list)
}

// fitting leaves the titles out where the list is too long with them for a line of the journal.
func fitting(list []event.StepData) ([]event.StepData, error) {
	size := eventSize(list)
	if size > maxEvent {
		for i := range list {
			list[i].Title = ""
		}
		size = eventSize(list)
	}
	if size > maxEvent {
		return nil, failure.New(failure.ResultInvalid, "the %d steps with what they depend on take %d bytes, and %d are the most that can be recorded", len(list), size, maxEvent).
			WithHint("make fewer or shorter: steps that hold more each, shorter ids, fewer dependencies")
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

func newFailure(j Job, err error) *event.FailureData {
	d := event.NewFailureData(err)
	d.Node, d.Stage, d.Iteration = j.Node.ID, j.Node.ID, j.Command.Location.Iteration
	d.ResumeCommand = "agent-pipelines resume " + j.State.Session
	return &d
}
