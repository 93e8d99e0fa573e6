package plan

import (
	"cmp"
	"encoding/json"
	"maps"
)

// ContextOf returns a node's context text: the override's, else the node's own.
func (p *Plan) ContextOf(n *Node) string {
	if p.Pipeline.Overrides == nil {
		return n.Context
	}
	return cmp.Or(p.Pipeline.Overrides.Context, n.Context)
}

// PolicyOf returns the policy that holds for a node: the node's own over the pipeline's, member by
// member. The pipeline's timeout bounds the whole run, and required is said of a node: neither is handed
// down. A nil node has the pipeline's.
func (p *Plan) PolicyOf(n *Node) Policy {
	var of Policy
	if p.Pipeline.Policy != nil {
		of = *p.Pipeline.Policy
		of.Timeout, of.Required = 0, false
	}
	if n == nil || n.Policy == nil {
		return of
	}
	own := *n.Policy
	of.Mode, of.Context = cmp.Or(own.Mode, of.Mode), cmp.Or(own.Context, of.Context)
	of.Timeout, of.StageTimeout = cmp.Or(own.Timeout, of.Timeout), cmp.Or(own.StageTimeout, of.StageTimeout)
	of.IdleTimeout, of.Recovery = cmp.Or(own.IdleTimeout, of.IdleTimeout), cmp.Or(own.Recovery, of.Recovery)
	of.Retry = own.Retry.over(of.Retry)
	of.Required = own.Required
	of.Cycles, of.Budget, of.Escalation = cmp.Or(own.Cycles, of.Cycles), cmp.Or(own.Budget, of.Budget), cmp.Or(own.Escalation, of.Escalation)
	of.Env, of.Sandbox, of.Rest = orRaw(own.Env, of.Env), orRaw(own.Sandbox, of.Sandbox), orRaw(own.Rest, of.Rest)
	return of
}

// over returns r with the members that only below has.
func (r *Retry) over(below *Retry) *Retry {
	if r == nil || below == nil {
		return cmp.Or(r, below)
	}
	merged := *below
	merged.Attempts, merged.Step, merged.Stage = cmp.Or(r.Attempts, merged.Attempts), cmp.Or(r.Step, merged.Step), cmp.Or(r.Stage, merged.Stage)
	if len(r.Backoff) > 0 {
		merged.Backoff = r.Backoff
	}
	return &merged
}

func orRaw(own, below json.RawMessage) json.RawMessage {
	if len(own) > 0 {
		return own
	}
	return below
}

// CommandsOf returns a node's commands by name: those of the pipeline, under those of the stage,
// under those of the command line. The map is the caller's own and never nil.
func (p *Plan) CommandsOf(n *Node) map[string]string {
	commands := map[string]string{}
	maps.Copy(commands, p.Pipeline.Commands)
	maps.Copy(commands, n.Commands)
	if p.Pipeline.Overrides != nil {
		maps.Copy(commands, p.Pipeline.Overrides.Commands)
	}
	return commands
}
