package plan

import (
	"cmp"
	"encoding/json"
)

// TotalModel is the total of a [Budget] that equals the model's context size.
const TotalModel = "model"

// withDefaults returns b with its unset members copied from below. A node may have a total of its own with the share
// from its pipeline.
func (b *Budget) withDefaults(below *Budget) *Budget {
	if b == nil || below == nil {
		return cmp.Or(b, below)
	}
	merged := *below
	if len(b.Total) > 0 {
		merged.Total = b.Total
	}
	if b.Shares != nil {
		merged.Shares = b.Shares
	}
	return &merged
}

// NeedsContext reports whether a node's share depends on the context size of its model.
func (b *Budget) NeedsContext(id string) bool {
	if b == nil || b.Shares[id] == 0 {
		return false
	}
	var word string
	return json.Unmarshal(b.Total, &word) == nil && word == TotalModel
}

// Share returns the maximum number of tokens of the node's prompt; ok is false if it is not limited. context is the
// model's context size in tokens.
func (b *Budget) Share(id string, context int64) (limit int, ok bool) {
	if b == nil || b.Shares[id] == 0 {
		return 0, false
	}
	total := float64(context)
	if !b.NeedsContext(id) && (json.Unmarshal(b.Total, &total) != nil || len(b.Total) == 0) {
		return 0, false
	}
	return int(total * float64(b.Shares[id]) / 100), true
}

// Ceiling is a cost limit for a scope: "" for the whole run, or the path of a node including everything it embeds.
type Ceiling struct {
	Scope string
	Cost  Cost
}

// Ceilings returns the ceilings for the node at path, the widest first.
func (p *Plan) Ceilings(path string) []Ceiling {
	var all []Ceiling
	add := func(scope string, policy *Policy) {
		if policy != nil && policy.Cost != nil {
			all = append(all, Ceiling{scope, *policy.Cost})
		}
	}
	add("", p.Pipeline.Policy)
	for i := range path + "." {
		if i < len(path) && path[i] != '.' {
			continue
		}
		n := p.Find(path[:i])
		if n == nil {
			break
		}
		add(n.Path, n.Policy)
		if n.Plan != nil {
			add(n.Path, n.Plan.Pipeline.Policy)
		}
	}
	return all
}
