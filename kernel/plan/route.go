package plan

import (
	"cmp"
	"slices"
)

// Route is where an outcome leads from a node.
type Route struct {
	Edge Edge // as written, the zero Edge for what is so without being written
	// To is the path of a node, or one of done, retry, pause, abort and failed.
	To string
	// Name is that of the counted edge ("verify:fail->execute"), "" for an edge forward. In an embedded pipeline it
	// begins with the path of the node that embeds it and a slash.
	Name string
	// Limit is how often it may be taken, for a counted edge.
	Limit int
}

// HasContract reports whether the outcome of the node's iterations is more than that its agent ended well: its
// agents say it, artifacts, checks or steps settle it, or what it is given.
func (n *Node) HasContract() bool {
	return n.Artifact != nil || len(n.Checks) > 0 || n.Steps != nil || len(n.Transitions) > 0 || n.NeedsInput()
}

// ChecksAt are the node's checks for a moment, [AtEnter] or [AtExit], in order.
func (n *Node) ChecksAt(at string) []Check {
	var checks []Check
	for _, c := range n.Checks {
		if cmp.Or(c.At, AtExit) == at {
			checks = append(checks, c)
		}
	}
	return checks
}

// Laddered reports whether a node that fails is tried again and then put to a person, instead of ending the run.
func (p *Plan) Laddered(n *Node) bool {
	r := p.PolicyOf(n).Retry
	return n.Steps != nil || len(n.Transitions) > 0 || r != nil && r.Stage > 0
}

// RouteOf is where an outcome leads from a node. Without an edge of its own success and skip lead to the next node,
// escalate and budget to a pause, and everything else to retry where the node is tried again, else to failed.
func (p *Plan) RouteOf(n *Node, o Outcome) Route {
	e, written := n.Transitions[o]
	if p.exitsWith(n, o) {
		e, written = Edge{To: ToDone}, true
	}
	r := Route{Edge: e}
	if !written {
		e.To = p.defaultTarget(n, o)
	}
	switch r.To = e.To; e.To {
	case ToRetry, ToPause, ToAbort, ToFailed:
		return r
	case ToNext, ToDone:
		r.To = p.nextTarget(n.Path, e.To == ToDone)
		return r
	}
	siblings, at := p.Siblings(n.Path)
	target := slices.IndexFunc(siblings, func(s Node) bool { return s.ID == e.To })
	if target < 0 { // the compiler lets none through
		r.To = ToFailed
		return r
	}
	r.To = siblings[target].Path
	if target <= at {
		r.Name, r.Limit = p.edgeName(n, o, e.To), p.edgeLimit(n, e)
	}
	return r
}

func (p *Plan) defaultTarget(n *Node, o Outcome) string {
	switch {
	case o == OutcomeSuccess || o == OutcomeSkip:
		return ToNext
	case o == OutcomeEscalate || o == OutcomeBudget:
		return ToPause
	case p.Laddered(n):
		return ToRetry
	default:
		return ToFailed
	}
}

// after is what follows the node at path in its list; behind the last one, or when the list is done with, the node
// that embeds it, else done.
func (p *Plan) nextTarget(path string, done bool) string {
	if next := p.Next(path); next != "" && !done {
		return next
	}
	return cmp.Or(p.Embedder(path), ToDone)
}

func (p *Plan) edgeName(n *Node, o Outcome, target string) string {
	name := n.ID + ":" + string(o) + "->" + target
	if embedder := p.Embedder(n.Path); embedder != "" {
		return embedder + "/" + name
	}
	return name
}

func (p *Plan) edgeLimit(n *Node, e Edge) int {
	if o := p.Pipeline.Overrides; o != nil && o.MaxCycles > 0 {
		return o.MaxCycles
	}
	c := p.CyclesOf(n)
	return min(cmp.Or(e.Limit, c.Default), c.Max)
}

// CyclesOf are the limits of cycles at a node, with the defaults for what is not said.
func (p *Plan) CyclesOf(n *Node) Cycles {
	var c Cycles
	if declared := p.PolicyOf(n).Cycles; declared != nil {
		c = *declared
	}
	c.Max = cmp.Or(c.Max, MaxCycles)
	c.Default = min(cmp.Or(c.Default, DefaultCycles), c.Max)
	c.Session = cmp.Or(c.Session, DefaultSessionCycles)
	return c
}

// Skipped reports whether the command line leaves a node of the pipeline itself out.
func (p *Plan) Skipped(n *Node) bool {
	o := p.Pipeline.Overrides
	return o != nil && p.Index(n.Path) >= 0 && slices.Contains(o.Skip, n.ID)
}

// NeedsInput reports whether a node's input artifact is looked at before the node begins: its contract demands fields,
// it may be skipped, or what it wraps or embeds is given a part of it.
func (n *Node) NeedsInput() bool {
	return len(n.Requires) > 0 || n.SkipWhen != "" || n.Wraps != nil || n.Plan != nil && n.Plan.UsesArtifacts()
}

// MakesArtifact reports whether the node has an artifact once it has ended well: of its own, or what it wraps or embeds
// hands out.
func (n *Node) MakesArtifact() bool {
	return n.Artifact != nil || n.Wraps != nil || n.Plan != nil && slices.ContainsFunc(n.Plan.Nodes, func(in Node) bool { return in.MakesArtifact() })
}

// UsesArtifacts reports whether a node of the plan, or of one that is embedded in it, makes an artifact or looks at one.
func (p *Plan) UsesArtifacts() bool {
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if n.Artifact != nil || n.NeedsInput() {
			return true
		}
		if slices.ContainsFunc(n.Stages, func(s Node) bool { return s.Artifact != nil }) {
			return true
		}
	}
	return false
}

// ExitAfter is the id of the node of the pipeline itself after which a run is complete, "" for the end of the list. Those
// of embedded pipelines are in their own plans.
func (p *Plan) ExitAfter() string {
	if o := p.Pipeline.Overrides; o != nil && o.ExitAfter != "" {
		return o.ExitAfter
	}
	return p.Pipeline.ExitAfter
}

// exitsAfter reports whether the pipeline in whose list n stands is complete when n ends so.
func (p *Plan) exitsWith(n *Node, o Outcome) bool {
	holder, _ := p.Holder(n.Path)
	return (o == OutcomeSuccess || o == OutcomeSkip) && n.ID == holder.ExitAfter()
}

// First is the path of the node that a run begins with, "" in a plan without nodes.
func (p *Plan) First() string {
	if len(p.Nodes) == 0 {
		return ""
	}
	if o := p.Pipeline.Overrides; o != nil && o.Start != "" {
		if i := slices.IndexFunc(p.Nodes, func(n Node) bool { return n.ID == o.Start }); i >= 0 {
			return p.Nodes[i].Path
		}
	}
	return p.Nodes[0].Path
}
