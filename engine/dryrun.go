package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/engine/internal/dryrun"
	"github.com/dodo-digital/agent-pipelines/engine/internal/environment"
	"github.com/dodo-digital/agent-pipelines/engine/internal/source"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// DryRunOptions selects the run to simulate.
type DryRunOptions struct {
	// Run names the run. Force and Observe have no effect.
	Run RunOptions
	// Assume maps node ids to the assumed outcome of their iterations: success (the default), fail, retry, stop or
	// error. Nodes with artifact, checks, steps or transitions also accept reject and escalate; nodes with skip_when
	// accept skip.
	Assume map[string]string
}

// DryRun describes a run without executing it.
type DryRun struct {
	Mode        string `json:"mode"` // loop or pipeline
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Session     string `json:"session"`
	Dir         string `json:"dir"`  // of the session, relative to the project; not created
	File        string `json:"file"` // of the pipeline or the stage.yaml
	// Plan is the compiled plan.
	Plan *plan.Plan `json:"plan"`
	// Runs is the number of runs of the whole pipeline, 0 if it runs once.
	Runs int `json:"runs,omitempty"`
	// Stages holds, in plan order, the stages with the prompts of their first iterations in the first run; stages of
	// parallel blocks once per provider.
	Stages []DryRunStage `json:"stages"`
	// Path is the scheduler's path through the plan under the assumptions.
	Path DryRunPath `json:"way"`
	// Unreached maps paths of unreachable nodes to the reason: the run starts after the node or ends before it.
	Unreached map[string]string `json:"left_out,omitempty"`
	// Warnings holds the warnings about the settings and those of the compiler.
	Warnings Diagnostics `json:"warnings"`
}

// DryRunStage is a stage as its first iteration would run.
type DryRunStage = dryrun.Stage

// DryRunPath is the scheduler's path through the plan.
type DryRunPath = dryrun.Path

// DryRun simulates a run: plan, prompts, and the scheduler's path under assumed outcomes. It calls no provider and no
// strategy, and writes nothing in the project; plugins without a cached description are started. It fails on faults
// of files as a start does.
func (e *Engine) DryRun(ctx context.Context, o DryRunOptions) (*DryRun, error) {
	if err := o.Run.Check(); err != nil {
		return nil, err
	}
	configs, warnings, err := e.env.Settings.Assign(ctx, e.env.Host)
	if err != nil {
		return nil, err
	}
	src, err := source.Compile(ctx, e.env, o.Run, configs, false)
	if err != nil {
		return nil, err
	}
	if err := store.CheckSession(src.Session); err != nil {
		return nil, err
	}
	assumed, err := parseAssumptions(src.Plan, o.Assume)
	if err != nil {
		return nil, err
	}
	providers, err := environment.Components{Host: e.env.Host, Configs: configs, Plan: src.Plan}.BlockProviders(ctx)
	if err != nil {
		return nil, err
	}
	start := event.SessionStartData{
		Mode: src.Mode, JournalVersion: event.JournalVersion, SchedulerVersion: progress.Version,
		SkipDelays: e.env.Config.SkipDelays, Providers: providers,
		Runs: o.Run.RunCount(),
	}
	path, err := dryrun.Simulate(src.Plan, src.Session, start, assumed)
	if err != nil {
		return nil, err
	}
	stages, err := dryrun.Stages(src.Plan, path.End, e.env.Roots())
	if err != nil {
		return nil, err
	}
	sandboxes := e.env.SandboxSettings(src.Plan)
	for i := range stages {
		s := &stages[i]
		s.Prompt, s.Wraps = e.env.Redactor.ForAgent().Text(s.Prompt), e.env.Redactor.ForAgent().Text(s.Wraps)
		if d, _ := sandboxes.RequestedSandbox(ctx, e.env.Host, sdk.KindProvider, s.Provider, src.Plan.EffectivePolicy(src.Plan.Find(s.Node)).Sandbox); d.IsRequested() {
			s.Sandbox = &d
		}
	}
	return &DryRun{
		Mode: src.Mode, Name: src.Plan.Pipeline.Name, Description: src.Plan.Pipeline.Description,
		Runs: o.Run.RunCount(), Session: src.Session, Dir: store.RunsDir + "/" + src.Session, File: src.Plan.Source.Path,
		Plan: src.Plan, Stages: stages, Path: path, Unreached: unreachedNodes(src.Plan, path.End), Warnings: e.env.RedactDiagnostics(slices.Concat(Diagnostics{}, warnings, src.Warnings)),
	}, nil
}

// unreachedNodes returns the reasons why nodes are never run, by path.
func unreachedNodes(p *plan.Plan, end state.State) map[string]string {
	reasons := map[string]string{}
	for n := range p.All() {
		if why := schedule.UnreachableReason(p, end, n.Path); why != "" {
			reasons[n.Path] = why
		}
	}
	return reasons
}

// parseAssumptions checks the assumed outcomes of the plan's nodes. An unknown node or outcome is
// [ErrOptions].
func parseAssumptions(p *plan.Plan, assume map[string]string) (map[string]dryrun.Outcome, error) {
	ids, nodes := nodesByID(p)
	assumed := map[string]dryrun.Outcome{}
	for _, id := range slices.Sorted(maps.Keys(assume)) {
		o := dryrun.Outcome(assume[id])
		if nodes[id] == nil {
			return nil, fmt.Errorf("%w: unknown node %q; %s", ErrOptions, id, dialect.DidYouMean(id, ids))
		}
		if !slices.Contains(dryrun.Outcomes, assume[id]) {
			return nil, fmt.Errorf("%w: unknown outcome %q; %s", ErrOptions, o, dialect.DidYouMean(assume[id], dryrun.Outcomes))
		}
		if !slices.ContainsFunc(nodes[id], o.AppliesTo) {
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

// nodesByID returns all nodes and the stages of parallel blocks by id, and the ids in plan order.
func nodesByID(p *plan.Plan) (ids []string, nodes map[string][]*plan.Node) {
	nodes = map[string][]*plan.Node{}
	add := func(n *plan.Node) {
		ids, nodes[n.ID] = append(ids, n.ID), append(nodes[n.ID], n)
	}
	for n := range p.All() {
		add(n)
		for j := range n.Stages {
			add(&n.Stages[j])
		}
	}
	return ids, nodes
}
