package plan

import (
	"cmp"
	"encoding/json"
)

// TotalModel is the total of a [Budget] that is as large as what the model takes in.
const TotalModel = "model"

// over returns b with the members that only below has: a node may have a total of its own, and has the share that its
// pipeline gives it.
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

// NeedsContext reports whether a node's share depends on how much its model takes in.
func (b *Budget) NeedsContext(id string) bool {
	if b == nil || b.Shares[id] == 0 {
		return false
	}
	var word string
	return json.Unmarshal(b.Total, &word) == nil && word == TotalModel
}

// Share is how many tokens a prompt of the node may have; ok is false where nothing limits it. context is what its
// model takes in, in tokens.
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

// Ceiling is a cost that holds for a part of the run: for the whole, "", or for the node at a path and all that it
// embeds.
type Ceiling struct {
	Scope string
	Cost  Cost
}

// Ceilings are those that hold for the node at path, the widest first.
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
