package plan

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
)

// ContextOf returns a node's context text: the override's, else the node's own.
func (p *Plan) ContextOf(n *Node) string {
	if p.Pipeline.Overrides == nil {
		return n.Context
	}
	return cmp.Or(p.Pipeline.Overrides.Context, n.Context)
}

// PolicyOf returns the policy that holds for a node: the node's own over that of its parallel block, if
// it stands in one, over its pipeline's, over that of the node that embeds its pipeline and so on, member
// by member. A pipeline's timeout bounds the whole run, and required is said of a node: neither is handed
// down. A nil node has the pipeline's. The mode is the strictest of all, and of what the run was started with.
func (p *Plan) PolicyOf(n *Node) Policy {
	if n == nil {
		return p.policyAbove("", Policy{})
	}
	of := n.Policy.over(p.policyAbove(n.Path, Policy{}))
	if o := p.Pipeline.Overrides; o != nil {
		of.Timeout, of.Mode = cmp.Or(o.Timeouts[n.ID], of.Timeout), StricterMode(o.Mode, of.Mode)
	}
	if of.Mode == ModeBurst {
		of = of.patient()
	}
	return of
}

// policyAbove is what a node at path has where it says nothing itself; above is what this plan is given.
func (p *Plan) policyAbove(path string, above Policy) Policy {
	of := p.Pipeline.Policy.over(above)
	of.Timeout, of.Required, of.Cost = 0, false, nil
	n, below := p.head(path)
	switch {
	case below == "":
		return of
	case n.Plan != nil:
		return n.Plan.policyAbove(below, n.Policy.over(of))
	default: // a stage of a block
		of = n.Policy.over(of)
		of.Required, of.Cost = false, nil
		return of
	}
}

// over returns below with the members that p has over it; required is p's alone.
func (p *Policy) over(below Policy) Policy {
	if p == nil {
		return below
	}
	of := below
	of.Mode, of.Context = StricterMode(p.Mode, of.Mode), cmp.Or(p.Context, of.Context)
	of.Timeout, of.StageTimeout = cmp.Or(p.Timeout, of.Timeout), cmp.Or(p.StageTimeout, of.StageTimeout)
	of.IdleTimeout, of.Recovery = cmp.Or(p.IdleTimeout, of.IdleTimeout), cmp.Or(p.Recovery, of.Recovery)
	of.Retry = p.Retry.over(of.Retry)
	of.Required = p.Required
	of.Cycles, of.Budget, of.Escalation = cmp.Or(p.Cycles, of.Cycles), p.Budget.over(of.Budget), p.Escalation.over(of.Escalation)
	of.Feedback, of.Approvals = p.Feedback.over(of.Feedback), p.Approvals.over(of.Approvals)
	of.Tools, of.Secrets = p.Tools.over(of.Tools), p.Secrets.over(of.Secrets)
	of.Env = orRaw(p.Env, of.Env)
	of.Sandbox = p.Sandbox.Over(of.Sandbox)
	of.Cost = p.Cost
	return of
}

// over returns r with the members that only below has.
func (r *Retry) over(below *Retry) *Retry {
	if r == nil || below == nil {
		return cmp.Or(r, below)
	}
	merged := *below
	merged.Attempts, merged.Step, merged.Stage = cmp.Or(r.Attempts, merged.Attempts), cmp.Or(r.Step, merged.Step), cmp.Or(r.Stage, merged.Stage)
	merged.OnStageRetry = cmp.Or(r.OnStageRetry, merged.OnStageRetry)
	if len(r.Backoff) > 0 {
		merged.Backoff = r.Backoff
	}
	return &merged
}

// over returns f with the number that only below has.
func (f *Feedback) over(below *Feedback) *Feedback {
	if f == nil || below == nil {
		return cmp.Or(f, below)
	}
	return &Feedback{Enabled: f.Enabled, Max: cmp.Or(f.Max, below.Max)}
}

// over returns e with the members that only below has.
func (e *Escalation) over(below *Escalation) *Escalation {
	if e == nil || below == nil {
		return cmp.Or(e, below)
	}
	return &Escalation{
		OnLimit: cmp.Or(e.OnLimit, below.OnLimit), Wait: cmp.Or(e.Wait, below.Wait), Timeout: cmp.Or(e.Timeout, below.Timeout),
		OnTimeout: cmp.Or(e.OnTimeout, below.OnTimeout), Poll: cmp.Or(e.Poll, below.Poll),
	}
}

// over returns a with the members that only below has: a's rules come first, and what either protects is protected.
func (a *Approvals) over(below *Approvals) *Approvals {
	if a == nil || below == nil {
		return cmp.Or(a, below)
	}
	merged := &Approvals{
		Default: cmp.Or(a.Default, below.Default), Timeout: cmp.Or(a.Timeout, below.Timeout),
		OnTimeout: cmp.Or(a.OnTimeout, below.OnTimeout), NonInteractive: cmp.Or(a.NonInteractive, below.NonInteractive),
		Rules:     slices.Concat(a.Rules, below.Rules),
		Protected: slices.Concat(a.Protected, below.Protected),
	}
	if len(a.Categories)+len(below.Categories) > 0 {
		merged.Categories = map[string]Approval{}
		maps.Copy(merged.Categories, below.Categories)
		maps.Copy(merged.Categories, a.Categories)
	}
	return merged
}

// over returns t with the members that only below has.
func (t *Tools) over(below *Tools) *Tools {
	if t == nil || below == nil {
		return cmp.Or(t, below)
	}
	merged := *t
	if t.AllowedCommands == nil {
		merged.AllowedCommands = below.AllowedCommands
	}
	merged.CommandTimeout = cmp.Or(t.CommandTimeout, below.CommandTimeout)
	merged.MaxResultTokens = cmp.Or(t.MaxResultTokens, below.MaxResultTokens)
	return &merged
}

// over returns the patterns of both.
func (s *Secrets) over(below *Secrets) *Secrets {
	if s == nil || below == nil {
		return cmp.Or(s, below)
	}
	return &Secrets{Patterns: slices.Concat(below.Patterns, s.Patterns)}
}

func orRaw(own, below json.RawMessage) json.RawMessage {
	if len(own) > 0 {
		return own
	}
	return below
}

// CommandsOf returns a node's commands by name: those of the pipeline, under those of the pipelines that
// it embeds on the way to the node, under those of the stage, under those of the command line. The map is
// the caller's own and never nil.
func (p *Plan) CommandsOf(n *Node) map[string]string {
	commands := map[string]string{}
	for holder, path := p, n.Path; holder != nil; {
		maps.Copy(commands, holder.Pipeline.Commands)
		head, below := holder.head(path)
		if below == "" {
			break
		}
		holder, path = head.Plan, below
	}
	maps.Copy(commands, n.Commands)
	if p.Pipeline.Overrides != nil {
		maps.Copy(commands, p.Pipeline.Overrides.Commands)
	}
	return commands
}
