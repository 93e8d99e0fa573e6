package compile

import (
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/diagnostic"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// What the command line says of the way through the nodes: where it begins and ends, what is left out, what it is given.

// checkTraversal holds the way of this run against the file.
func (f *graph) checkTraversal(p *plan.Plan) {
	o := f.Overrides
	of := traversal{skip: o.Skip, exit: f.position(p.ExitAfter())}
	var flags []string
	for _, flag := range []struct {
		name string
		said bool
	}{{"--skip", len(o.Skip) > 0}, {"--start", o.Start != ""}, {"--exit-after", o.ExitAfter != ""}} {
		if flag.said {
			flags = append(flags, flag.name)
		}
	}
	if o.Start != "" {
		of.start = f.position(o.Start)
	}
	if of.start < 0 || len(flags) == 0 && len(o.Artifacts) == 0 {
		return
	}
	f.checkStart(p, of)
	if at := f.externalLocation(strings.Join(flags, " ")); len(flags) > 0 {
		f.checkRequired(of, &at)
	}
	from := f.shortestPaths(-1, of)
	f.checkStepSources(from)
	f.checkReplacedArtifacts(from, of)
}

// checkStart reports a run that could not begin with its first node, or would begin behind its last one.
func (f *graph) checkStart(p *plan.Plan, of traversal) {
	o := f.Overrides
	at := f.externalLocation("--start")
	switch {
	case o.Start == "":
	case slices.Contains(o.Skip, o.Start):
		at.errorf(diagnostic.CodeConflict, "leave one of the two out", "the run cannot begin with node %q: --skip leaves it out", o.Start)
	case of.exit < 0 || of.exit >= of.start:
	case o.ExitAfter != "":
		at.errorf(diagnostic.CodeConflict, "begin with it or before it, or end later", "the run cannot begin with node %q: --exit-after ends it after %q, which stands before", o.Start, o.ExitAfter)
	default:
		at.errorf(diagnostic.CodeConflict, "say where it ends: --exit-after NODE", "the run cannot begin with node %q: exit_after of the file ends it after %q, which stands before", o.Start, p.Pipeline.ExitAfter)
	}
}

// checkStepSources reports steps that come from a node that the run never comes to, and that no artifact was given for. from
// are the ways of the run.
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
			f.externalLocation("--start").errorf(diagnostic.CodeConflict, "give that node's artifact: --artifact "+n.Steps.From+"=FILE",
				"the run cannot begin with node %q: %q takes its steps from %q, which does not run", f.Overrides.Start, n.ID, n.Steps.From)
		}
	}
}

// checkReplacedArtifacts looks at the names of the artifacts that the run is given.
func (f *graph) checkReplacedArtifacts(from []int, of traversal) {
	for _, name := range slices.Sorted(maps.Keys(f.Overrides.Artifacts)) {
		at, i := f.externalLocation("--artifact"), f.position(name)
		if i >= of.start && from[i] >= 0 && !slices.Contains(of.skip, name) {
			at.Warnf(at.pos, diagnostic.CodeNoEffect, "begin behind it with --start, or leave it out with --skip "+name,
				"the artifact %q is replaced: the run comes to the node of that name, which makes its own", name)
		}
	}
}
