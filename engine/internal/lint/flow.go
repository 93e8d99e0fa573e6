package lint

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// flow finds transitions, fields and ceilings that are valid but probably mistakes. item is the source of n, a node
// of p.
func (l Linter) flow(d yamldoc.Document, p *plan.Plan, item *yamldoc.Node, n *plan.Node) {
	if edges := item.Get("transitions"); edges != nil {
		for _, e := range edges.Entries {
			if why := impossibleReason(p, n, plan.Outcome(e.Key)); why != "" {
				d.Warnf(e.KeyPos, yamldoc.CodeOutcome, "remove the edge", "node %q never ends as %s: %s", n.ID, e.Key, why)
			}
		}
	}
	checkVerdict(d, item, n)
	checkHandedOn(d, p, item, n)
	checkNoFail(d, p, item, n)
	l.checkCost(d, item, func(yield func(*plan.Node) bool) {
		if yield(n) && n.Plan != nil {
			n.Plan.All()(yield)
		}
	})
}

// impossibleReason returns the reason why a node cannot have an outcome, "" if it can.
func impossibleReason(p *plan.Plan, n *plan.Node, o plan.Outcome) string {
	ofAgents := []plan.Outcome{plan.OutcomeReject, plan.OutcomeRetry, plan.OutcomeTimeout, plan.OutcomeError, plan.OutcomeEscalate}
	ofAttempts := []plan.Outcome{plan.OutcomeRetry, plan.OutcomeTimeout, plan.OutcomeError}
	switch {
	case n.Kind == plan.KindPipeline && slices.Contains(ofAgents, o):
		return "the embedded pipeline handles it itself"
	case n.Kind == plan.KindParallel && slices.Contains(ofAttempts, o):
		return "a block whose providers fail ends as fail"
	case n.Kind == plan.KindStage && o == plan.OutcomeBudget && len(p.Ceilings(n.Path)) == 0 && p.EffectivePolicy(n).Budget == nil:
		return "there is no cost or budget in its policy"
	default:
		return ""
	}
}

// checkVerdict finds values that the schema allows for the verdict's field and that the verdict maps to no outcome.
func checkVerdict(d yamldoc.Document, item *yamldoc.Node, n *plan.Node) {
	values := item.Get("artifact").Get("verdict").Get("map")
	if values == nil || n.Artifact == nil || n.Artifact.Verdict == nil {
		return
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var field struct {
		Enum []any `json:"enum"`
	}
	if json.Unmarshal(n.Artifact.Schema, &schema) != nil || json.Unmarshal(schema.Properties[n.Artifact.Verdict.Field], &field) != nil {
		return // the schema is missing or has another shape
	}
	var without []string
	for _, v := range field.Enum {
		if word := fmt.Sprint(v); n.Artifact.Verdict.Map[word] == "" {
			without = append(without, word)
		}
	}
	if len(without) > 0 {
		d.Warnf(values.Pos, yamldoc.CodeOutcome, "give each an outcome", "the schema allows %s for %s, which verdict.map maps to no outcome: such an artifact is refused",
			strings.Join(without, ", "), n.Artifact.Verdict.Field)
	}
}

// checkNoFail finds a node that ends by checks, is retried, and has no transition for checks that never pass.
func checkNoFail(d yamldoc.Document, p *plan.Plan, item *yamldoc.Node, n *plan.Node) {
	_, found := n.Transitions[plan.OutcomeFail]
	if n.Kind != plan.KindStage || n.Termination.Type() != plan.TypeChecks || found || !p.HasRetryLadder(n) {
		return
	}
	at := item.Pos
	if own := item.Get("termination"); own != nil {
		at = own.Pos
	}
	d.Warnf(at, yamldoc.CodeNoFail, "set the target of fail in transitions", "node %q has no edge for checks that never pass: all its iterations are repeated, and then the user is asked", n.ID)
}

// checkCost finds a ceiling that a provider uses up with its first attempt, because the provider does not report its
// consumption.
func (l Linter) checkCost(d yamldoc.Document, holder *yamldoc.Node, nodes func(func(*plan.Node) bool)) {
	cost := holder.Get("policy").Get("cost")
	if cost == nil {
		return
	}
	silent := map[string][]string{} // names of providers, by the key of the ceiling
	for _, name := range providerNames(nodes) {
		usd, tokens := l.Catalog.Reports(name)
		if !usd {
			silent["max_usd"] = append(silent["max_usd"], name)
		}
		if !tokens {
			silent["max_tokens"] = append(silent["max_tokens"], name)
		}
	}
	for _, key := range []struct{ most, reserve string }{{"max_usd", "reserve_usd"}, {"max_tokens", "reserve_tokens"}} {
		if ceiling := cost.Get(key.most); ceiling != nil && cost.Get(key.reserve) == nil && len(silent[key.most]) > 0 {
			d.Warnf(ceiling.Pos, yamldoc.CodeReserve, "add "+key.reserve+":", "attempts of %s do not report their usage: the first one counts as all of %s", strings.Join(silent[key.most], " and "), key.most)
		}
	}
}

// providerNames returns the names of the providers that nodes and blocks use, each once.
func providerNames(nodes func(func(*plan.Node) bool)) []string {
	var names []string
	for n := range nodes {
		if n.Provider != nil {
			names = append(names, n.Provider.Type)
		}
		for _, b := range n.Providers {
			names = append(names, b.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
