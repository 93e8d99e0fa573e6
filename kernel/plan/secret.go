package plan

import "slices"

// SecretPatterns are the patterns of secrets of all policies in the plan and the plans that it embeds, each once: what
// is a secret in one node is one in all that is written of the session.
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
