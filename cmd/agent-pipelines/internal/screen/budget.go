package screen

import (
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Spent describes the consumption of a budget: "tokens 2,450 / 4,000, cost $0.0213 / $2.0000 (unknown for 2 attempts:
// counted as reserved)". It returns "" for a budget without limits.
func Spent(limits plan.Cost, c state.Charge) string {
	var parts []string
	unknown := 0
	if limits.MaxTokens > 0 {
		parts = append(parts, fmt.Sprintf("tokens %s / %s", Count(c.Tokens), Count(limits.MaxTokens)))
		unknown = c.UnknownTokens
	}
	if limits.MaxUSD > 0 {
		parts = append(parts, fmt.Sprintf("cost %s / %s", Dollars(c.USD), Dollars(limits.MaxUSD)))
		unknown = max(unknown, c.UnknownUSD)
	}
	if len(parts) == 0 {
		return ""
	}
	text := strings.Join(parts, ", ")
	if unknown > 0 {
		text += fmt.Sprintf(" (unknown for %s: counted as reserved)", Plural(unknown, "attempt"))
	}
	return text
}

// Dollars formats an amount of money.
func Dollars(usd float64) string { return fmt.Sprintf("$%.4f", usd) }

// spent lists the budgets of a node, the widest first.
func spent(at place) []string {
	var lines []string
	for _, c := range at.Plan.Ceilings(at.node.Path) {
		if text := Spent(c.Cost, at.State.Charges[c.Scope]); text != "" {
			lines = append(lines, withRole(scopeRole(at.Plan, c.Scope), "Budget: "+text)...)
		}
	}
	return lines
}

func scopeRole(p *plan.Plan, scope string) string {
	if n := p.Find(scope); n != nil {
		return role(n)
	}
	return orchestrator
}

// budgetWarning reports that policy.cost.warn_usd was exceeded.
func budgetWarning(u engine.Update) []string {
	d, err := event.Decode[event.BudgetWarningData](*u.Event)
	if err != nil {
		return nil
	}
	line := fmt.Sprintf("⚠ %s spent, which is past warn_usd %s", Dollars(d.SpentUSD), Dollars(d.WarnUSD))
	if d.MaxUSD > 0 {
		line += "; the ceiling is " + Dollars(d.MaxUSD)
	}
	return withRole(scopeRole(u.Plan, d.Scope), line)
}

// promptSize reports the size of a prompt with a limit, or a text that was shortened for it.
func promptSize(e event.Event) string {
	if e.Type == event.ContextBuilt {
		d, err := event.Decode[event.ContextBuiltData](e)
		if err != nil {
			return ""
		}
		return fmt.Sprintf("Prompt: %s / %s tokens", Count(int64(d.Tokens)), Count(int64(d.Limit)))
	}
	d, err := event.Decode[event.ContextTrimmedData](e)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("Prompt: %s cut to %s of %s tokens", Clean(d.Name), Count(int64(d.KeptTokens)), Count(int64(d.OriginalTokens)))
}

// Usage describes a consumption: "1,204 tokens in, 350 out, $0.0213"; "" if nothing is known.
func Usage(u event.Usage) string {
	var parts []string
	if n := event.Sum(u.InputTokens, event.Sum(u.CacheReadTokens, u.CacheWriteTokens)); n != nil { // all that a model read
		parts = append(parts, Count(*n)+" tokens in")
	}
	if u.OutputTokens != nil {
		parts = append(parts, Count(*u.OutputTokens)+" out")
	}
	if u.CostUSD != nil {
		parts = append(parts, Dollars(*u.CostUSD))
	}
	return strings.Join(parts, ", ")
}
