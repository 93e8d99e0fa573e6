package plan

import (
	"cmp"
	"maps"
	"slices"
)

// EffectiveContext returns a node's context text: the override's, else the node's own.
func (p *Plan) EffectiveContext(n *Node) string {
	if p.Pipeline.Overrides == nil {
		return n.Context
	}
	return cmp.Or(p.Pipeline.Overrides.Context, n.Context)
}

// EffectivePolicy returns the effective policy of a node, member by member. Set values win in this order: the node's
// own, its parallel block's, its pipeline's, that of the node that embeds the pipeline, and so on. Approval rules,
// protected paths and secret patterns are joined.
//
// A pipeline's timeout and cost bound the whole run, and required belongs to one node, so these are not inherited. A
// nil node has the pipeline's policy. The mode is the strictest of all, including the run's.
func (p *Plan) EffectivePolicy(n *Node) Policy {
	if n == nil {
		return p.inheritedPolicy("", Policy{})
	}
	policy := n.Policy.withDefaults(p.inheritedPolicy(n.Path, Policy{}))
	if o := p.Pipeline.Overrides; o != nil {
		policy.Timeout, policy.Mode = cmp.Or(o.Timeouts[n.ID], policy.Timeout), StricterMode(o.Mode, policy.Mode)
	}
	if policy.Mode == ModeBurst {
		policy = policy.inBurst()
	}
	return policy
}

// inheritedPolicy returns the defaults of a node at path; above are the defaults that this plan inherits.
func (p *Plan) inheritedPolicy(path string, above Policy) Policy {
	policy := p.Pipeline.Policy.withDefaults(above)
	policy.Timeout, policy.Required, policy.Cost = 0, false, nil
	n, below := p.findHead(path)
	switch {
	case below == "":
		return policy
	case n.Plan != nil:
		return n.Plan.inheritedPolicy(below, n.Policy.withDefaults(policy))
	default: // a stage of a block
		policy = n.Policy.withDefaults(policy)
		policy.Required, policy.Cost = false, nil
		return policy
	}
}

// withDefaults returns p with its unset members copied from below; required and cost are p's alone.
func (p *Policy) withDefaults(below Policy) Policy {
	if p == nil {
		return below
	}
	policy := below
	policy.Mode, policy.Context = StricterMode(p.Mode, policy.Mode), cmp.Or(p.Context, policy.Context)
	policy.Timeout, policy.StageTimeout = cmp.Or(p.Timeout, policy.Timeout), cmp.Or(p.StageTimeout, policy.StageTimeout)
	policy.IdleTimeout, policy.Recovery = cmp.Or(p.IdleTimeout, policy.IdleTimeout), cmp.Or(p.Recovery, policy.Recovery)
	policy.Retry = p.Retry.withDefaults(policy.Retry)
	policy.Required = p.Required
	policy.Cycles, policy.Budget, policy.Escalation = cmp.Or(p.Cycles, policy.Cycles), p.Budget.withDefaults(policy.Budget), p.Escalation.withDefaults(policy.Escalation)
	policy.Feedback, policy.Approvals = p.Feedback.withDefaults(policy.Feedback), p.Approvals.withDefaults(policy.Approvals)
	policy.Tools, policy.Secrets = p.Tools.withDefaults(policy.Tools), p.Secrets.withDefaults(policy.Secrets)
	if len(p.Env) > 0 {
		policy.Env = p.Env
	}
	policy.Sandbox = p.Sandbox.WithDefaults(policy.Sandbox)
	policy.Cost = p.Cost
	return policy
}

// withDefaults returns r with its unset members copied from below.
func (r *Retry) withDefaults(below *Retry) *Retry {
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

// withDefaults returns f with the maximum of below if f has none.
func (f *Feedback) withDefaults(below *Feedback) *Feedback {
	if f == nil || below == nil {
		return cmp.Or(f, below)
	}
	return &Feedback{Enabled: f.Enabled, Max: cmp.Or(f.Max, below.Max)}
}

// withDefaults returns e with its unset members copied from below.
func (e *Escalation) withDefaults(below *Escalation) *Escalation {
	if e == nil || below == nil {
		return cmp.Or(e, below)
	}
	return &Escalation{
		OnLimit: cmp.Or(e.OnLimit, below.OnLimit), Wait: cmp.Or(e.Wait, below.Wait), Timeout: cmp.Or(e.Timeout, below.Timeout),
		OnTimeout: cmp.Or(e.OnTimeout, below.OnTimeout), Poll: cmp.Or(e.Poll, below.Poll),
	}
}

// withDefaults returns a with its unset members copied from below. The rules of a come first, and the protected paths
// of both are protected.
func (a *Approvals) withDefaults(below *Approvals) *Approvals {
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

// withDefaults returns t with its unset members copied from below.
func (t *Tools) withDefaults(below *Tools) *Tools {
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

// withDefaults returns the patterns of s and below.
func (s *Secrets) withDefaults(below *Secrets) *Secrets {
	if s == nil || below == nil {
		return cmp.Or(s, below)
	}
	return &Secrets{Patterns: slices.Concat(below.Patterns, s.Patterns)}
}

// EffectiveCommands returns a node's commands by name. Later sources override earlier ones: the pipeline, the
// embedded pipelines down to the node, the stage, the command line. The map is new and never nil.
func (p *Plan) EffectiveCommands(n *Node) map[string]string {
	commands := map[string]string{}
	for holder, path := p, n.Path; holder != nil; {
		maps.Copy(commands, holder.Pipeline.Commands)
		head, below := holder.findHead(path)
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

// SecretPatterns returns the secret patterns of all policies in the plan and in embedded plans, each once: a secret
// in one node is a secret everywhere in the session.
func (p *Plan) SecretPatterns() []string {
	var all []string
	add := func(policy *Policy) {
		if policy != nil && policy.Secrets != nil {
			all = append(all, policy.Secrets.Patterns...)
		}
	}
	add(p.Pipeline.Policy)
	for n := range p.All() {
		add(n.Policy)
		for i := range n.Stages {
			add(n.Stages[i].Policy)
		}
		if n.Plan != nil {
			add(n.Plan.Pipeline.Policy)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// inBurst returns the policy under [ModeBurst]: doubled time limits, and doubled attempts of a plain node.
func (p Policy) inBurst() Policy {
	p.Timeout, p.StageTimeout, p.IdleTimeout = 2*p.Timeout, 2*p.StageTimeout, 2*p.IdleTimeout
	attempts := DefaultAttempts
	if p.Retry != nil {
		attempts = cmp.Or(p.Retry.Attempts, attempts)
	}
	p.Retry = (&Retry{Attempts: 2 * attempts}).withDefaults(p.Retry)
	return p
}
