package compile

import (
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// checkTraversal checks the overrides skip, start, exit_after and artifacts against the graph.
func (f *graph) checkTraversal(p *plan.Plan) {
	o := f.Overrides
	t := traversal{skip: o.Skip, exit: f.position(p.ExitAfter())}
	var flags []string
	for _, flag := range []struct {
		name  string
		isSet bool
	}{{"skip", len(o.Skip) > 0}, {"start", o.Start != ""}, {"exit_after", o.ExitAfter != ""}} {
		if flag.isSet {
			flags = append(flags, f.OverrideLabel(flag.name))
		}
	}
	if o.Start != "" {
		t.start = f.position(o.Start)
	}
	if t.start < 0 || len(flags) == 0 && len(o.Artifacts) == 0 {
		return
	}
	f.checkStart(p, t)
	if at := f.externalLocation(strings.Join(flags, " ")); len(flags) > 0 {
		f.checkRequired(t, &at)
	}
	from := f.shortestPaths(-1, t)
	f.checkStepSources(from)
	f.checkReplacedArtifacts(from, t)
}

// checkStart reports a start node that is skipped or after the exit node.
func (f *graph) checkStart(p *plan.Plan, t traversal) {
	o := f.Overrides
	at := f.overrideLocation("start")
	switch {
	case o.Start == "":
	case slices.Contains(o.Skip, o.Start):
		at.Errorf(yamldoc.CodeConflict, "leave one of the two out", "the run cannot begin with node %q: %s leaves it out", o.Start, f.OverrideLabel("skip"))
	case t.exit < 0 || t.exit >= t.start:
	case o.ExitAfter != "":
		at.Errorf(yamldoc.CodeConflict, "begin with it or before it, or end later", "the run cannot begin with node %q: %s ends it after %q, which comes before it", o.Start, f.OverrideLabel("exit_after"), o.ExitAfter)
	default:
		at.Errorf(yamldoc.CodeConflict, "set the end: "+f.OverrideLabel("exit_after")+" NODE", "the run cannot begin with node %q: exit_after of the file ends it after %q, which comes before it", o.Start, p.Pipeline.ExitAfter)
	}
}

// checkStepSources reports nodes whose steps come from a node that does not run and has no artifact on the command
// line. from is the result of [graph.shortestPaths].
func (f *graph) checkStepSources(from []int) {
	if f.Overrides.Start == "" {
		return
	}
	for i, n := range f.nodes {
		if from[i] < 0 || n == nil || n.Steps == nil || slices.Contains(f.Overrides.Skip, n.ID) {
			continue
		}
		source := f.position(n.Steps.From)
		if source >= 0 && from[source] < 0 && f.Overrides.Artifacts[n.Steps.From] == "" {
			f.overrideLocation("start").Errorf(yamldoc.CodeConflict, "give that node's artifact: "+f.OverrideLabel("artifact")+" "+n.Steps.From+"=FILE",
				"the run cannot begin with node %q: %q takes its steps from %q, which does not run", f.Overrides.Start, n.ID, n.Steps.From)
		}
	}
}

// checkReplacedArtifacts warns of artifacts of the command line whose node runs and replaces them.
func (f *graph) checkReplacedArtifacts(from []int, t traversal) {
	for _, name := range slices.Sorted(maps.Keys(f.Overrides.Artifacts)) {
		at, i := f.overrideLocation("artifact"), f.position(name)
		if i >= t.start && from[i] >= 0 && !slices.Contains(t.skip, name) {
			at.Warnf(yamldoc.CodeNoEffect, "start after that node with "+f.OverrideLabel("start")+", or skip it with "+f.OverrideLabel("skip")+" "+name,
				"the artifact %q is replaced: the node of that name runs and makes its own", name)
		}
	}
}
