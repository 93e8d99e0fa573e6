package plan

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
