package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine/internal/dryrun"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// DryRunOptions say what is to be shown.
type DryRunOptions struct {
	// Run is what would be run. Force and Observe have no meaning here.
	Run RunOptions
	// Assume says what the iterations of a node come to, by the node's id: success (the default), fail, retry,
	// stop or error, of one under a contract (artifact, checks, steps or transitions) also reject or escalate, and of one with
	// skip_when skip.
	Assume map[string]string
}

// DryRun is a run before it is one.
type DryRun struct {
	Mode        string `json:"mode"` // loop or pipeline
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Session     string `json:"session"`
	Dir         string `json:"dir"`  // of the session, relative to the project; not made
	File        string `json:"file"` // of the pipeline or the stage.yaml
	// Plan is what would be run.
	Plan *plan.Plan `json:"plan"`
	// Runs is how often the whole pipeline would run, 0 for once.
	Runs int `json:"runs,omitempty"`
	// Stages are the stages with the prompts of their first iterations, in the first run, in the plan's order; those of
	// blocks once for each provider.
	Stages []DryRunStage `json:"stages"`
	// Way is the way that the scheduler takes through the plan under what is assumed.
	Way DryRunPath `json:"way"`
	// LeftOut says why the run never comes to a node, by the node's path: it begins behind it, or is complete before.
	LeftOut map[string]string `json:"left_out,omitempty"`
	// Warnings are what the author should know.
	Warnings Diagnostics `json:"warnings"`
}

// DryRunStage is a stage as its first iteration would meet it.
type DryRunStage = dryrun.Stage

// DryRunWay is the way through the plan.
type DryRunPath = dryrun.Path

// DryRun shows what a run would be: the plan, the prompts, and the way of the scheduler under assumed
// outcomes. It calls no provider and no strategy and writes nothing; plugins are asked to describe
// themselves if that is not remembered. What a start would refuse as a fault of the files is an error here, too.
func (e *Engine) DryRun(ctx context.Context, o DryRunOptions) (*DryRun, error) {
	if err := o.Run.check(); err != nil {
		return nil, err
	}
	configs, warnings, err := e.settings.assign(ctx, e.host)
	if err != nil {
		return nil, err
	}
	src, err := e.compile(ctx, o.Run, configs, false)
	if err != nil {
		return nil, err
	}
	if err := store.CheckSession(src.session); err != nil {
		return nil, err
	}
	assumed, err := assumptions(src.plan, o.Assume)
	if err != nil {
		return nil, err
	}
	known, err := newCatalog(ctx, e.host, configs)
	if err != nil {
		return nil, err
	}
	start := event.SessionStartData{
		Mode: src.mode, JournalVersion: event.JournalVersion, SchedulerVersion: schedule.Version,
		SkipDelays: e.config.skipDelays, Providers: known.standFor(src.plan),
		Runs: o.Run.repeats(),
	}
	way, err := dryrun.Simulate(src.plan, src.session, start, assumed)
	if err != nil {
		return nil, err
	}
	stages, err := dryrun.Stages(src.plan, way.End, dryrun.Source{Project: e.config.workDir, Library: e.config.library})
	if err != nil {
		return nil, err
	}
	boxes := e.sandboxes(src.plan)
	for i := range stages {
		s := &stages[i]
		s.Prompt, s.Wraps = e.redactor.Agent().Text(s.Prompt), e.redactor.Agent().Text(s.Wraps)
		if d, _ := boxes.demand(ctx, e.host, sdk.KindProvider, s.Provider, src.plan.PolicyOf(src.plan.Find(s.Node)).Sandbox); d.Asks() {
			s.Sandbox = &d
		}
	}
	return &DryRun{
		Mode: src.mode, Name: src.plan.Pipeline.Name, Description: src.plan.Pipeline.Description,
		Runs: o.Run.repeats(), Session: src.session, Dir: store.RunsDir + "/" + src.session, File: src.plan.Source.Path,
		Plan: src.plan, Stages: stages, Way: way, LeftOut: leftOut(src.plan, way.End), Warnings: e.clean(slices.Concat(Diagnostics{}, warnings, src.warnings)),
	}, nil
}

// leftOut are the nodes that the run has not come to and never does, by path.
func leftOut(p *plan.Plan, end state.State) map[string]string {
	reasons := map[string]string{}
	for n := range p.All() {
		if why := schedule.PassedOver(p, end, n.Path); why != "" {
			reasons[n.Path] = why
		}
	}
	return reasons
}

// assumptions are the outcomes assumed of the plan's nodes. A node or an outcome that does not exist is
// [ErrOptions].
func assumptions(p *plan.Plan, said map[string]string) (map[string]dryrun.Outcome, error) {
	ids := idsOf(p)
	assumed := map[string]dryrun.Outcome{}
	for _, id := range slices.Sorted(maps.Keys(said)) {
		o := dryrun.Outcome(said[id])
		if !slices.Contains(ids, id) {
			return nil, fmt.Errorf("%w: no node %q to assume something of%s", ErrOptions, id, like(id, ids))
		}
		if !slices.Contains(dryrun.Outcomes, o) {
			return nil, fmt.Errorf("%w: no outcome %q; one of %s can be assumed", ErrOptions, o, words(dryrun.Outcomes))
		}
		if !slices.ContainsFunc(nodesWithID(p, id), o.Fits) {
			needs := "an artifact, checks, steps or transitions"
			if o == dryrun.Skip {
				needs = "skip_when"
			}
			return nil, fmt.Errorf("%w: node %q cannot end as %s; that needs %s", ErrOptions, id, o, needs)
		}
		assumed[id] = o
	}
	return assumed, nil
}

// nodesWithID are the nodes, and the stages in blocks, with an id.
func nodesWithID(p *plan.Plan, id string) []*plan.Node {
	var nodes []*plan.Node
	for n := range p.All() {
		if n.ID == id {
			nodes = append(nodes, n)
		}
		for j := range n.Stages {
			if n.Stages[j].ID == id {
				nodes = append(nodes, &n.Stages[j])
			}
		}
	}
	return nodes
}

// idsOf are the ids of the nodes, and of the stages in blocks.
func idsOf(p *plan.Plan) []string {
	var ids []string
	for n := range p.All() {
		ids = append(ids, n.ID)
		for j := range n.Stages {
			ids = append(ids, n.Stages[j].ID)
		}
	}
	return ids
}

func like(name string, names []string) string {
	if near := nearest.Name(name, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return "; there are " + strings.Join(names, ", ")
}

func words(outcomes []dryrun.Outcome) string {
	texts := make([]string, len(outcomes))
	for i, o := range outcomes {
		texts[i] = string(o)
	}
	return strings.Join(texts, ", ")
}
