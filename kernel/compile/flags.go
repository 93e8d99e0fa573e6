package compile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// checkFlags checks the nodes, limits and artifacts of the command line.
func checkFlags(c *compiler, p *plan.Plan) {
	var own, all []string
	for i := range p.Nodes {
		own = append(own, p.Nodes[i].ID)
	}
	for n := range p.All() {
		all = append(all, n.ID)
		for i := range n.Stages {
			all = append(all, n.Stages[i].ID)
		}
	}
	for _, id := range c.Overrides.Skip {
		i := slices.Index(own, id)
		if i < 0 {
			checkNodeFlag(c, "skip", id, own)
			continue
		}
		checkSkipFlag(c, p, &p.Nodes[i])
	}
	for _, flag := range []struct {
		name string
		ids  []string
	}{{"start", []string{c.Overrides.Start}}, {"exit_after", []string{c.Overrides.ExitAfter}}, {"iterate", c.Overrides.Iterate}} {
		for _, id := range flag.ids {
			if id != "" {
				checkNodeFlag(c, flag.name, id, own)
			}
		}
	}
	checkLimitFlags(c, all)
	checkArtifactFlags(c)
}

// checkLimitFlags checks the timeouts and the cycle limit. all are the ids of all nodes and of the stages of blocks.
func checkLimitFlags(c *compiler, all []string) {
	if seconds := c.Overrides.Timeout; seconds < 0 {
		c.overrideLocation("timeout").Errorf(yamldoc.CodeRange, "leave it out to use the timeout of the files", "the timeout of the run must be more than 0 seconds, not %v", seconds)
	}
	for _, id := range slices.Sorted(maps.Keys(c.Overrides.Timeouts)) {
		checkNodeFlag(c, "timeout", id, all)
		if seconds := c.Overrides.Timeouts[id]; seconds <= 0 {
			c.overrideLocation("timeout").Errorf(yamldoc.CodeRange, "leave it out to use the timeout of the files", "the timeout of node %q must be more than 0 seconds, not %v", id, seconds)
		}
	}
	if n := c.Overrides.MaxCycles; n < 0 || n > plan.MaxCycles {
		c.overrideLocation("max_cycles").Errorf(yamldoc.CodeRange, "", "the limit of cycles must be from 1 to %d, not %d", plan.MaxCycles, n)
	}
}

// checkArtifactFlags checks the names of the artifacts of the command line.
func checkArtifactFlags(c *compiler) {
	for _, name := range slices.Sorted(maps.Keys(c.Overrides.Artifacts)) {
		at := c.overrideLocation("artifact")
		switch {
		case slices.Contains(strings.Split(name, "."), "") || name == plan.RequiresAny || name == plan.RequiresStart:
			at.Errorf(yamldoc.CodeIdentifier, "write NAME=FILE with the id of a node, or the name of a field", "invalid artifact name %q", name)
		case c.Overrides.Artifacts[name] == "":
			at.Errorf(yamldoc.CodeMissing, "write NAME=FILE", "artifact %q has no file", name)
		}
	}
}

func checkNodeFlag(c *compiler, override, id string, known []string) {
	if !slices.Contains(known, id) {
		c.overrideLocation(override).Errorf(yamldoc.CodeNode, dialect.DidYouMean(id, known), "%s names unknown node %q", c.OverrideLabel(override), id)
	}
}

// checkSkipFlag reports a node that cannot be skipped.
func checkSkipFlag(c *compiler, p *plan.Plan, n *plan.Node) {
	at := c.overrideLocation("skip")
	if id := requiredNode(n); id != "" {
		reason := "it is required"
		if id != n.ID {
			reason = fmt.Sprintf("%q inside is required", id)
		}
		at.Errorf(yamldoc.CodeRequired, "remove required from its policy to allow skipping it", "node %q cannot be skipped: %s", n.ID, reason)
	}
	if r := p.Route(n, plan.OutcomeSkip); r.Name != "" || r.To == plan.ToRetry || r.To == plan.ToPause {
		at.Errorf(yamldoc.CodeConflict, "remove the edge, or point it forward", "node %q cannot be skipped: its edge for skip leads to %q, which would skip it again", n.ID, r.Edge.To)
	}
	for i := range p.Nodes {
		hasArtifact := c.Overrides.Artifacts[n.ID] != ""
		if s := p.Nodes[i].Steps; s != nil && s.From == n.ID && !hasArtifact && !slices.Contains(c.Overrides.Skip, p.Nodes[i].ID) {
			at.Errorf(yamldoc.CodeConflict, "skip that node, too, or give the artifact: "+c.OverrideLabel("artifact")+" "+n.ID+"=FILE", "node %q cannot be skipped: %q takes its steps from it", n.ID, p.Nodes[i].ID)
		}
	}
}

// requiredNode returns the id of n, or of a node inside n, that is required; "" for none.
func requiredNode(n *plan.Node) string {
	if n.Policy != nil && n.Policy.Required {
		return n.ID
	}
	if n.Plan != nil {
		for inner := range n.Plan.All() {
			if inner.Policy != nil && inner.Policy.Required {
				return inner.ID
			}
		}
	}
	return ""
}
