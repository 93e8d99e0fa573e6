package sources

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// PolicyOwner is the kind of object that a policy belongs to.
type PolicyOwner int

// The owners of policies.
const (
	PipelinePolicy PolicyOwner = iota
	NodePolicy
	StagePolicy // inside a block
)

// readCycles reads the limits of counted edges; nil if absent.
func readCycles(m dialect.Map) *plan.Cycles {
	inner, ok := m.MapAt("cycles")
	if !ok {
		return nil
	}
	inner.CheckKeys(&dialect.Cycles)
	c := &plan.Cycles{}
	var at dialect.Member
	c.Default, at = inner.AtMost(plan.MaxCycles, "default")
	c.Max, _ = inner.AtMost(plan.MaxCycles, "max")
	c.Session, _ = inner.Count("session")
	if c.Max > 0 && c.Default > c.Max {
		inner.Errorf(at.Pos, yamldoc.CodeRange, "", "default must be at most max, which is %d, not %s", c.Max, at.Source)
	}
	n, at := inner.Count("identical")
	if at.Node != nil && n < 2 {
		inner.Errorf(at.Pos, yamldoc.CodeRange, "leave the key out to disable the comparison", "identical must be at least 2 passes, not %s", at.Source)
	}
	c.Identical = n
	return c
}

// readBudget reads the token budget of prompts; nil if absent.
func readBudget(m dialect.Map, owner PolicyOwner) *plan.Budget {
	inner, ok := m.MapAt("budget")
	if !ok {
		return nil
	}
	inner.CheckKeys(&dialect.Budget)
	if owner != PipelinePolicy && inner.Has("shares") {
		inner.Errorf(inner.KeyPos("shares"), yamldoc.CodeConflict, "write them in the pipeline's policy", "shares divide the budget of a pipeline among its nodes")
	}
	b := &plan.Budget{Total: readBudgetTotal(inner)}
	shares, _ := inner.MapAt("shares")
	if shares.Node == nil || len(shares.Node.Entries) == 0 {
		return b
	}
	b.Shares = map[string]int{}
	sum := 0
	for _, e := range shares.Node.Entries {
		n, _ := shares.AtMost(100, e.Key)
		b.Shares[e.Key] = n
		sum += n
	}
	if sum > 100 {
		inner.Errorf(shares.Node.Pos, yamldoc.CodeRange, "", "the shares add up to %d percent, more than 100", sum)
	}
	return b
}

// readBudgetTotal returns a number of tokens, or "model" for the context window of the provider's model.
func readBudgetTotal(m dialect.Map) json.RawMessage {
	v := m.Get("total")
	switch {
	case v.Node == nil && !m.Has("total"):
		m.Errorf(m.Node.Pos, yamldoc.CodeMissing, "add total: a number of tokens, or model", "%s has no total", m.Label)
		return nil
	case v.Kind == yamldoc.Text && dialect.TrimNewlines(v.Source) == "model":
		return json.RawMessage(`"model"`)
	case v.Kind == yamldoc.Text:
		if _, ok := dialect.ParseNumber(v.Node); !ok {
			m.Errorf(v.Pos, yamldoc.CodeChoice, "write a number of tokens, or model", "unknown total %q", v.Source)
			return nil
		}
	}
	n, at := m.Count("total")
	if at.Node == nil {
		return nil
	}
	return json.RawMessage(strconv.Itoa(n))
}

// readCost reads the limits of dollars and tokens; nil if absent.
func readCost(m dialect.Map) *plan.Cost {
	inner, ok := m.MapAt("cost")
	if !ok {
		return nil
	}
	inner.CheckKeys(&dialect.Cost)
	c := &plan.Cost{MaxUSD: inner.Positive("max_usd"), WarnUSD: inner.Positive("warn_usd"), ReserveUSD: inner.Positive("reserve_usd")}
	tokens, _ := inner.Count("max_tokens")
	reserve, _ := inner.Count("reserve_tokens")
	c.MaxTokens, c.ReserveTokens = int64(tokens), int64(reserve)
	checkBelow(inner, "warn_usd", c.WarnUSD, "max_usd", c.MaxUSD, "the run would end before it warns")
	checkBelow(inner, "reserve_usd", c.ReserveUSD, "max_usd", c.MaxUSD, "no attempt could begin")
	checkBelow(inner, "reserve_tokens", float64(c.ReserveTokens), "max_tokens", float64(c.MaxTokens), "no attempt could begin")
	return c
}

// checkBelow reports a number above its bound. A bound of 0 is no bound.
func checkBelow(m dialect.Map, key string, n float64, bound string, most float64, why string) {
	if most > 0 && n > most {
		m.Errorf(m.Get(key).Pos, yamldoc.CodeRange, fmt.Sprintf("at most %v", most), "%s is more than %s: %s", key, bound, why)
	}
}

// readEscalation reads the policy of escalations; nil if absent.
func readEscalation(m dialect.Map) *plan.Escalation {
	inner, ok := m.MapAt("escalation")
	if !ok {
		return nil
	}
	inner.CheckKeys(&dialect.Escalation)
	e := &plan.Escalation{
		OnLimit: dialect.ReadChoice[string](inner, "on_limit", &dialect.Escalation),
		Timeout: inner.SecondsOr("timeout", "a day"), Poll: inner.SecondsOr("poll", "5 seconds"),
		OnTimeout: dialect.ReadChoice[string](inner, "on_timeout", &dialect.Escalation),
	}
	if wait := inner.Boolean("wait"); inner.Has("wait") {
		e.Wait = &wait
	}
	return e
}

// isRequired reports whether every path to the end must pass through the node.
func isRequired(m dialect.Map, owner PolicyOwner) bool {
	if owner != NodePolicy && m.Has("required") {
		hint := map[PolicyOwner]string{PipelinePolicy: "write it in the policy of a node", StagePolicy: "write it in the policy of the block"}[owner]
		m.Errorf(m.KeyPos("required"), yamldoc.CodeConflict, hint, "required is a key of nodes")
		return false
	}
	return m.Boolean("required")
}

// RunLimit returns the guardrail of a run, from guardrails or policy.timeout, which mean the same.
func RunLimit(m dialect.Map, guardrails *plan.Guardrails, policy *plan.Policy) *plan.Guardrails {
	if policy == nil || policy.Timeout == 0 {
		return guardrails
	}
	inner, _ := m.Peek("policy")
	at := inner.Location(inner.Get("timeout"))
	switch {
	case guardrails == nil:
		return &plan.Guardrails{MaxRuntimeSeconds: policy.Timeout, Source: at.String()}
	case guardrails.MaxRuntimeSeconds != policy.Timeout:
		at.Errorf(yamldoc.CodeConflict, "keep one of the two", "policy.timeout is %v seconds, and guardrails.max_runtime_seconds, which means the same, is %v",
			policy.Timeout, guardrails.MaxRuntimeSeconds)
	}
	return guardrails
}
