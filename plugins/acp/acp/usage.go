package acp

import (
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// totalUsage returns the usage of the attempt, nil if it is unknown.
func (r *report) totalUsage() *sdk.Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.usage == nil && r.cost == nil {
		return nil
	}
	return r.usageSum()
}

// usageSum returns the tokens of all turns with the cost of the session. The caller holds mu.
func (r *report) usageSum() *sdk.Usage {
	u := sdk.Usage{}
	if r.usage != nil {
		u = *r.usage
	}
	u.CostUSD = r.cost
	return &u
}
