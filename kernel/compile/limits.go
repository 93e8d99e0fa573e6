package compile

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// policyOwner is the kind of object that a policy belongs to.
type policyOwner int

const (
	pipelinePolicy policyOwner = iota
	nodePolicy
	stagePolicy // inside a block
)

// cycles reads the limits of counted edges; nil if absent.
func (m object) cycles() *plan.Cycles {
	inner, ok := m.objectAt("cycles")
	if !ok {
		return nil
	}
	inner.checkKeys(&dialect.Cycles)
	c := &plan.Cycles{}
	var at value
	c.Default, at = inner.atMost(plan.MaxCycles, "default")
	c.Max, _ = inner.atMost(plan.MaxCycles, "max")
	c.Session, _ = inner.count("session")
	if c.Max > 0 && c.Default > c.Max {
		inner.Errorf(at.Pos, yamldoc.CodeRange, "", "default must be at most max, which is %d, not %s", c.Max, at.Source)
	}
	n, at := inner.count("identical")
	if at.Node != nil && n < 2 {
		inner.Errorf(at.Pos, yamldoc.CodeRange, "leave the key out to disable the comparison", "identical must be at least 2 passes, not %s", at.Source)
	}
	c.Identical = n
	return c
}

// budget reads the token budget of prompts; nil if absent.
func (m object) budget(owner policyOwner) *plan.Budget {
	inner, ok := m.objectAt("budget")
	if !ok {
		return nil
	}
	inner.checkKeys(&dialect.Budget)
	if owner != pipelinePolicy && inner.has("shares") {
		inner.Errorf(inner.keyPos("shares"), yamldoc.CodeConflict, "write them in the pipeline's policy", "shares divide the budget of a pipeline among its nodes")
	}
	b := &plan.Budget{Total: inner.budgetTotal()}
	shares, _ := inner.objectAt("shares")
	if shares.node == nil || len(shares.node.Entries) == 0 {
		return b
	}
	b.Shares = map[string]int{}
	sum := 0
	for _, e := range shares.node.Entries {
		n, _ := shares.atMost(100, e.Key)
		b.Shares[e.Key] = n
		sum += n
	}
	if sum > 100 {
		inner.Errorf(shares.node.Pos, yamldoc.CodeRange, "", "the shares add up to %d percent, more than 100", sum)
	}
	return b
}

// budgetTotal returns a number of tokens, or "model" for the context window of the provider's model.
func (m object) budgetTotal() json.RawMessage {
	v := m.get("total")
	switch {
	case v.Node == nil && !m.has("total"):
		m.Errorf(m.node.Pos, yamldoc.CodeMissing, "add total: a number of tokens, or model", "%s has no total", m.label)
		return nil
	case v.Kind == yamldoc.Text && trimNewlines(v.Source) == "model":
		return json.RawMessage(`"model"`)
	case v.Kind == yamldoc.Text:
		if _, ok := parseNumber(v.Node); !ok {
			m.Errorf(v.Pos, yamldoc.CodeChoice, "write a number of tokens, or model", "unknown total %q", v.Source)
			return nil
		}
	}
	n, at := m.count("total")
	if at.Node == nil {
		return nil
	}
	return json.RawMessage(strconv.Itoa(n))
}

// cost reads the limits of dollars and tokens; nil if absent.
func (m object) cost() *plan.Cost {
	inner, ok := m.objectAt("cost")
	if !ok {
		return nil
	}
	inner.checkKeys(&dialect.Cost)
	c := &plan.Cost{MaxUSD: inner.positive("max_usd"), WarnUSD: inner.positive("warn_usd"), ReserveUSD: inner.positive("reserve_usd")}
	tokens, _ := inner.count("max_tokens")
	reserve, _ := inner.count("reserve_tokens")
	c.MaxTokens, c.ReserveTokens = int64(tokens), int64(reserve)
	inner.checkBelow("warn_usd", c.WarnUSD, "max_usd", c.MaxUSD, "the run would end before it warns")
	inner.checkBelow("reserve_usd", c.ReserveUSD, "max_usd", c.MaxUSD, "no attempt could begin")
	inner.checkBelow("reserve_tokens", float64(c.ReserveTokens), "max_tokens", float64(c.MaxTokens), "no attempt could begin")
	return c
}

// checkBelow reports a number above its bound. A bound of 0 is no bound.
func (m object) checkBelow(key string, n float64, bound string, most float64, why string) {
	if most > 0 && n > most {
		m.Errorf(m.get(key).Pos, yamldoc.CodeRange, fmt.Sprintf("at most %v", most), "%s is more than %s: %s", key, bound, why)
	}
}

// escalation reads the policy of escalations; nil if absent.
func (m object) escalation() *plan.Escalation {
	inner, ok := m.objectAt("escalation")
	if !ok {
		return nil
	}
	inner.checkKeys(&dialect.Escalation)
	e := &plan.Escalation{
		OnLimit: oneOf[string](inner, "on_limit", &dialect.Escalation),
		Timeout: inner.secondsOr("timeout", "a day"), Poll: inner.secondsOr("poll", "5 seconds"),
		OnTimeout: oneOf[string](inner, "on_timeout", &dialect.Escalation),
	}
	if wait := inner.boolean("wait"); inner.has("wait") {
		e.Wait = &wait
	}
	return e
}

// isRequired reports whether every path to the end must pass through the node.
func (m object) isRequired(owner policyOwner) bool {
	if owner != nodePolicy && m.has("required") {
		hint := map[policyOwner]string{pipelinePolicy: "write it in the policy of a node", stagePolicy: "write it in the policy of the block"}[owner]
		m.Errorf(m.keyPos("required"), yamldoc.CodeConflict, hint, "required is a key of nodes")
		return false
	}
	return m.boolean("required")
}

// runLimit returns the guardrail of a run, from guardrails or policy.timeout, which mean the same.
func (m object) runLimit(guardrails *plan.Guardrails, policy *plan.Policy) *plan.Guardrails {
	if policy == nil || policy.Timeout == 0 {
		return guardrails
	}
	inner, _ := m.peek("policy")
	at := inner.location(inner.get("timeout"))
	switch {
	case guardrails == nil:
		return &plan.Guardrails{MaxRuntimeSeconds: policy.Timeout, Source: at.String()}
	case guardrails.MaxRuntimeSeconds != policy.Timeout:
		at.Errorf(yamldoc.CodeConflict, "keep one of the two", "policy.timeout is %v seconds, and guardrails.max_runtime_seconds, which means the same, is %v",
			policy.Timeout, guardrails.MaxRuntimeSeconds)
	}
	return guardrails
}
