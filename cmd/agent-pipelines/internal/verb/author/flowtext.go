package author

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// fact is one thing that is said of a node.
type fact struct{ name, text string }

// flowOf says where the outcomes of a node lead, what its work must come to, and within which limits. n has its path in
// the whole plan.
func flowOf(p *plan.Plan, n *plan.Node) []fact {
	var facts []fact
	add := func(name, text string) {
		if text != "" {
			facts = append(facts, fact{name, text})
		}
	}
	if p.Skipped(n) {
		add("Left out", "--skip")
	}
	for _, source := range slices.Sorted(maps.Keys(n.Requires)) {
		add("Requires", requiresText(source, n.Requires[source]))
	}
	if n.SkipWhen != "" {
		add("Skipped", "when "+n.SkipWhen)
	}
	for _, outcome := range slices.Sorted(maps.Keys(n.Transitions)) {
		add("Edge", edgeText(p, n, outcome))
	}
	add("Steps", stepsSaid(n.Steps))
	facts = append(facts, wrapsFacts(n.Wraps)...)
	for _, c := range n.Checks {
		add("Check", checkText(c))
	}
	if n.Artifact != nil {
		add("Artifact", artifactText(n.Artifact))
		add("Heals", healText(n.Artifact))
	}
	add("Policy", policyText(p, n))
	return facts
}

// edgeText is "fail → execute, at most 3 times, then pause".
func edgeText(p *plan.Plan, n *plan.Node, outcome plan.Outcome) string {
	r := p.RouteOf(n, outcome)
	text := fmt.Sprintf("%s → %s", outcome, r.Edge.To)
	if r.Name != "" {
		onLimit := plan.ToPause
		if e := p.PolicyOf(n).Escalation; e != nil {
			onLimit = cmp.Or(e.OnLimit, onLimit)
		}
		text += fmt.Sprintf(", at most %s, then %s", screen.Plural(r.Limit, "time"), cmp.Or(r.Edge.OnLimit, onLimit))
	}
	if r.Edge.Feedback != "" {
		text += ", telling " + r.Edge.Feedback + " of the artifact"
	}
	return text
}

func stepsSaid(s *plan.Steps) string {
	if s == nil {
		return ""
	}
	text := fmt.Sprintf("one for each of %s of %s", s.Path, s.From)
	if s.Parallel {
		text += ", several at a time"
	}
	if s.DependsOn != "" {
		text += ", after those in " + s.DependsOn
	}
	if s.MaxTurns > 0 {
		text += fmt.Sprintf(", at most %s each", screen.Plural(s.MaxTurns, "turn"))
	}
	return text + ", on return the " + map[string]string{"all": "whole list", "": "failed ones", "failed": "failed ones"}[s.Rerun]
}

// checkText is "tests: tests by go test ./..., before the work".
func checkText(c plan.Check) string {
	if c.LeftOut != "" {
		return c.ID + ": left out, " + c.LeftOut
	}
	var config struct{ Type, Command, Path string }
	_ = json.Unmarshal(c.Config, &config) // other shapes are the action's own
	text := c.ID + ": " + cmp.Or(config.Type, "of no type")
	if of := cmp.Or(config.Command, config.Path); of != "" {
		text += " by " + of
	}
	if c.At == plan.AtEnter {
		text += ", before the work"
	}
	if c.FilesFrom != "" {
		text += ", for the files in " + c.FilesFrom
	}
	if c.Timeout > 0 {
		text += ", within " + cli.SecondsText(c.Timeout)
	}
	return text
}

// requiresText is "spec_id, components of the artifact of spec".
func requiresText(source string, fields []string) string {
	of := "the artifact of " + source
	switch source {
	case plan.RequiresAny:
		of = "whatever artifact it is handed"
	case plan.RequiresStart:
		of = "what the run starts with, where it begins here"
	}
	return strings.Join(fields, ", ") + " of " + of
}

// healText is how often a bad artifact is asked for again.
func healText(a *plan.Artifact) string {
	if a.Heals() == 0 {
		return "none: a bad artifact is not asked for again"
	}
	return "a bad artifact is asked for again at once, at most " + screen.Plural(a.Heals(), "time")
}

func artifactText(a *plan.Artifact) string {
	parts := []string{strings.TrimSpace(cmp.Or(a.Type, "of no type") + " " + a.Version)}
	if a.From != "" {
		parts = append(parts, "from "+a.From)
	}
	if len(a.Schema) > 0 {
		parts = append(parts, "by a schema")
	}
	if a.MaxBytes > 0 {
		parts = append(parts, fmt.Sprintf("at most %d bytes", a.MaxBytes))
	}
	if len(a.Carry) > 0 {
		parts = append(parts, "carries "+strings.Join(a.Carry, ", "))
	}
	for _, field := range slices.Sorted(maps.Keys(a.DefaultsFrom)) {
		parts = append(parts, field+" from "+a.DefaultsFrom[field]+" where it is skipped")
	}
	for _, field := range slices.Sorted(maps.Keys(a.KernelFields)) {
		parts = append(parts, field+" measured by "+a.KernelFields[field])
	}
	if a.Verdict != nil {
		var means []string
		for _, word := range slices.Sorted(maps.Keys(a.Verdict.Map)) {
			means = append(means, fmt.Sprintf("%s %s", word, a.Verdict.Map[word]))
		}
		parts = append(parts, "verdict by "+a.Verdict.Field+": "+strings.Join(means, ", "))
	}
	return strings.Join(parts, "; ")
}

// policyText are the limits that hold for a node, wherever they are said.
func policyText(p *plan.Plan, n *plan.Node) string {
	of := p.PolicyOf(n)
	var parts []string
	add := func(said bool, format string, args ...any) {
		if said {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(of.Required, "required")
	add(of.Context != "", "context %s", of.Context)
	add(of.Timeout > 0, "an attempt within %s", cli.SecondsText(of.Timeout))
	add(of.Timeout == 0 && of.StageTimeout > 0, "an attempt within %s", cli.SecondsText(of.StageTimeout))
	add(of.IdleTimeout > 0, "a sign of life every %s", cli.SecondsText(of.IdleTimeout))
	if r := of.Retry; r != nil {
		add(r.Attempts > 0, "%s", screen.Plural(r.Attempts, "attempt"))
		add(n.Steps != nil && r.Step > 0, "%s of a step", retries(r.Step))
		add(r.Stage > 0 && n.Kind != plan.KindPipeline, "%s of the stage", retries(r.Stage))
	}
	if b := p.Pipeline.Policy; b != nil && b.Budget != nil && b.Budget.Shares[n.ID] > 0 {
		add(true, "%d percent of the budget", b.Budget.Shares[n.ID])
	}
	if c := of.Cost; c != nil {
		add(c.MaxUSD > 0, "at most %s USD", strconv.FormatFloat(c.MaxUSD, 'f', -1, 64))
		add(c.MaxTokens > 0, "at most %d tokens", c.MaxTokens)
	}
	add(of.Escalation.Waits(), "waits for a person, %s", waitText(of.Escalation))
	return strings.Join(parts, ", ")
}

// waitText is how long a session waits for a person, and what happens then.
func waitText(e *plan.Escalation) string {
	if !e.Waits() {
		return ""
	}
	limit := e.Timeout
	if limit == 0 {
		limit = plan.DefaultEscalationTimeout
	}
	return fmt.Sprintf("at most %s, then %s", cli.SecondsText(limit), cmp.Or(e.OnTimeout, plan.ToAbort))
}

func retries(n int) string {
	if n == 1 {
		return "1 retry"
	}
	return fmt.Sprintf("%d retries", n)
}
