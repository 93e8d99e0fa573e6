package plan

import (
	"cmp"
	"slices"
)

// Route is the target of an outcome.
type Route struct {
	Edge Edge // as written, the zero Edge for a default route
	// To is the path of a node, or one of done, retry, pause, abort and failed.
	To string
	// Name is the name of a counted edge ("verify:fail->execute"), "" for an edge that leads forward. In an embedded
	// pipeline it begins with the path of the embedding node and a slash.
	Name string
	// Limit is the maximum number of transitions over a counted edge.
	Limit int
}

// HasContract reports whether the node's outcome depends on more than the end of its agent: on transitions,
// artifacts, checks, steps or requirements on its input.
func (n *Node) HasContract() bool {
	return n.Artifact != nil || len(n.Checks) > 0 || n.Steps != nil || len(n.Transitions) > 0 || n.NeedsInput()
}

// ChecksAt returns the node's checks for a moment, [AtEnter] or [AtExit], in order.
func (n *Node) ChecksAt(at string) []Check {
	var checks []Check
	for _, c := range n.Checks {
		if cmp.Or(c.At, AtExit) == at {
			checks = append(checks, c)
		}
	}
	return checks
}

// HasRetryLadder reports whether a failing node is retried and then escalated, instead of failing the run.
func (p *Plan) HasRetryLadder(n *Node) bool {
	r := p.EffectivePolicy(n).Retry
	return n.Steps != nil || len(n.Transitions) > 0 || r != nil && r.Stage > 0
}

// Delivers reports whether a node measures a delivery, also in embedded plans.
func (p *Plan) Delivers() bool {
	for n := range p.All() {
		if slices.ContainsFunc(n.Checks, func(c Check) bool { return c.Type() == CheckDelivery }) {
			return true
		}
	}
	return false
}

// Route returns the target of a node's outcome. Without an edge, success and skip lead to the next node, escalate and
// budget to a pause. All others lead to retry if the node has a retry ladder ([Plan.HasRetryLadder]), else to failed.
func (p *Plan) Route(n *Node, o Outcome) Route {
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
	if target < 0 { // the compiler rejects such edges
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
	case p.HasRetryLadder(n):
		return ToRetry
	default:
		return ToFailed
	}
}

// nextTarget returns the node after the one at path in its list; after the last one, or if done is set, the node that
// embeds the list, else done.
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
	c := p.CycleLimits(n)
	return min(cmp.Or(e.Limit, c.Default), c.Max)
}

// CycleLimits returns the cycle limits at a node, with defaults for unset ones.
func (p *Plan) CycleLimits(n *Node) Cycles {
	var c Cycles
	if declared := p.EffectivePolicy(n).Cycles; declared != nil {
		c = *declared
	}
	c.Max = cmp.Or(c.Max, MaxCycles)
	c.Default = min(cmp.Or(c.Default, DefaultCycles), c.Max)
	c.Session = cmp.Or(c.Session, DefaultSessionCycles)
	return c
}

// Skipped reports whether a top-level node is to be skipped by an override.
func (p *Plan) Skipped(n *Node) bool {
	o := p.Pipeline.Overrides
	return o != nil && p.Index(n.Path) >= 0 && slices.Contains(o.Skip, n.ID)
}

// NeedsInput reports whether a node's input artifact is inspected before the node begins: the node requires fields, may
// be skipped, or wraps or embeds a target that uses the artifact.
func (n *Node) NeedsInput() bool {
	return len(n.Requires) > 0 || n.SkipWhen != "" || n.Wraps != nil || n.Plan != nil && n.Plan.UsesArtifacts()
}

// MakesArtifact reports whether the node has an artifact after it ended well: its own, or that of the pipeline or
// command that it wraps or embeds.
func (n *Node) MakesArtifact() bool {
	return n.Artifact != nil || n.Wraps != nil || n.Plan != nil && slices.ContainsFunc(n.Plan.Nodes, func(in Node) bool { return in.MakesArtifact() })
}

// UsesArtifacts reports whether a node of the plan, or of an embedded one, produces or inspects an artifact.
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

// ExitAfter returns the id of the top-level node whose success completes the run, "" for the end of the list.
// Embedded plans have their own.
func (p *Plan) ExitAfter() string {
	if o := p.Pipeline.Overrides; o != nil && o.ExitAfter != "" {
		return o.ExitAfter
	}
	return p.Pipeline.ExitAfter
}

// exitsWith reports whether the outcome o of n completes the pipeline whose list contains n.
func (p *Plan) exitsWith(n *Node, o Outcome) bool {
	holder, _ := p.Holder(n.Path)
	return (o == OutcomeSuccess || o == OutcomeSkip) && n.ID == holder.ExitAfter()
}

// First returns the path of the node that a run begins with, "" in a plan without nodes.
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
