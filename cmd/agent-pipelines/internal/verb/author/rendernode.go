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

// fact is one property of a node.
type fact struct{ name, text string }

// nodeFacts returns the transitions of a node, its contract and its limits. n has its path in the whole plan.
func nodeFacts(p *plan.Plan, n *plan.Node) []fact {
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
	add("Steps", stepsText(n.Steps))
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

// edgeText describes the edge of an outcome: "fail → execute, at most 3 times, then pause".
func edgeText(p *plan.Plan, n *plan.Node, outcome plan.Outcome) string {
	r := p.Route(n, outcome)
	text := fmt.Sprintf("%s → %s", outcome, r.Edge.To)
	if r.Name != "" {
		onLimit := plan.ToPause
		if e := p.EffectivePolicy(n).Escalation; e != nil {
			onLimit = cmp.Or(e.OnLimit, onLimit)
		}
		text += fmt.Sprintf(", at most %s, then %s", screen.Plural(r.Limit, "time"), cmp.Or(r.Edge.OnLimit, onLimit))
	}
	if r.Edge.Feedback != "" {
		text += ", telling " + r.Edge.Feedback + " of the artifact"
	}
	return text
}

func stepsText(s *plan.Steps) string {
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

// checkText describes a check: "tests: tests by go test ./..., before the work".
func checkText(c plan.Check) string {
	if c.SkipReason != "" {
		return c.ID + ": left out, " + c.SkipReason
	}
	var config struct{ Type, Command, Path string }
	_ = json.Unmarshal(c.Config, &config) // the action may define other shapes
	text := c.ID + ": " + cmp.Or(config.Type, "of no type")
	if subject := cmp.Or(config.Command, config.Path); subject != "" {
		text += " by " + subject
	}
	if c.At == plan.AtEnter {
		text += ", before the work"
	}
	if c.TestFirst != "" {
		text += ", as " + string(c.TestFirst) + " of a test-first development"
	}
	if c.FilesFrom != "" {
		text += ", for the files in " + c.FilesFrom
	}
	if c.Timeout > 0 {
		text += ", within " + cli.SecondsText(c.Timeout)
	}
	return text
}

// requiresText describes required fields: "spec_id, components of the artifact of spec".
func requiresText(source string, fields []string) string {
	artifact := "the artifact of " + source
	switch source {
	case plan.RequiresAny:
		artifact = "whatever artifact it is handed"
	case plan.RequiresStart:
		artifact = "the run's input, where it begins here"
	}
	return strings.Join(fields, ", ") + " of " + artifact
}

// healText describes how many times an invalid artifact is requested again.
func healText(a *plan.Artifact) string {
	if a.MaxRetries() == 0 {
		return "none: a bad artifact is not asked for again"
	}
	return "a bad artifact is asked for again at once, at most " + screen.Plural(a.MaxRetries(), "time")
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

// policyText describes the effective limits of a node, whether the node or the pipeline sets them.
func policyText(p *plan.Plan, n *plan.Node) string {
	policy := p.EffectivePolicy(n)
	var parts []string
	add := func(set bool, format string, args ...any) {
		if set {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(policy.Required, "required")
	add(policy.Context != "", "context %s", policy.Context)
	add(policy.Timeout > 0, "an attempt within %s", cli.SecondsText(policy.Timeout))
	add(policy.Timeout == 0 && policy.StageTimeout > 0, "an attempt within %s", cli.SecondsText(policy.StageTimeout))
	add(policy.IdleTimeout > 0, "a sign of life every %s", cli.SecondsText(policy.IdleTimeout))
	if r := policy.Retry; r != nil {
		add(r.Attempts > 0, "%s", screen.Plural(r.Attempts, "attempt"))
		add(n.Steps != nil && r.Step > 0, "%s of a step", retries(r.Step))
		add(r.Stage > 0 && n.Kind != plan.KindPipeline, "%s of the stage", retries(r.Stage))
	}
	if b := p.Pipeline.Policy; b != nil && b.Budget != nil && b.Budget.Shares[n.ID] > 0 {
		add(true, "%d percent of the budget", b.Budget.Shares[n.ID])
	}
	if c := policy.Cost; c != nil {
		add(c.MaxUSD > 0, "at most %s USD", strconv.FormatFloat(c.MaxUSD, 'f', -1, 64))
		add(c.MaxTokens > 0, "at most %d tokens", c.MaxTokens)
	}
	add(policy.Escalation.Waits(), "waits for the user, %s", waitText(policy.Escalation))
	return strings.Join(parts, ", ")
}

// waitText describes how long a session waits for an answer, and the action after that.
func waitText(e *plan.Escalation) string {
	if !e.Waits() {
		return ""
	}
	return fmt.Sprintf("at most %s, then %s", cli.SecondsText(cmp.Or(e.Timeout, plan.DefaultEscalationTimeout)), cmp.Or(e.OnTimeout, plan.ToAbort))
}

func retries(n int) string {
	if n == 1 {
		return "1 retry"
	}
	return fmt.Sprintf("%d retries", n)
}

// hookTexts describes the hooks of a node and of the stages of a block; if n is nil, the hooks of the whole pipeline.
func hookTexts(p *plan.Plan, n *plan.Node) []string {
	var texts []string
	for i := range p.Pipeline.Hooks {
		h := &p.Pipeline.Hooks[i]
		switch {
		case n == nil && h.Stage == "", n != nil && h.Stage == n.ID:
			texts = append(texts, hookText(h))
		case n != nil && h.Stage != "" && slices.ContainsFunc(n.Stages, func(s plan.Node) bool { return s.ID == h.Stage }):
			texts = append(texts, hookText(h)+", of stage "+h.Stage)
		}
	}
	return texts
}

// hookText describes a hook: its point, action, message and condition.
func hookText(h *plan.Hook) string {
	text := string(h.Point) + " " + h.Action
	if h.Message != "" {
		text += fmt.Sprintf(" %q", h.Message)
	}
	if h.AcceptFeedback {
		text += ", with feedback"
	}
	if h.Condition != "" {
		text += " when " + h.Condition
	}
	if h.Supervise {
		text += " (" + h.Source + ")"
	}
	return text
}

// wrapsFacts returns the command that a node wraps, its inputs and its outputs.
func wrapsFacts(w *plan.Wraps) []fact {
	if w == nil {
		return nil
	}
	var facts []fact
	if w.Run != "" {
		facts = append(facts, fact{"Command", strings.Join(strings.Fields(w.Run), " ")})
	}
	return append(facts, fact{"Hands in", inputsText(w)}, fact{"Hands out", outputsText(w)})
}

// inputsText describes the inputs: "who from name, by default lang".
func inputsText(w *plan.Wraps) string {
	var parts []string
	if len(w.Inputs) == 0 {
		parts = append(parts, "all fields of the input artifact")
	}
	for _, theirs := range slices.Sorted(maps.Keys(w.Inputs)) {
		parts = append(parts, theirs+" from "+w.Inputs[theirs])
	}
	if len(w.Defaults) > 0 {
		parts = append(parts, "by default "+strings.Join(slices.Sorted(maps.Keys(w.Defaults)), ", "))
	}
	return strings.Join(parts, ", ")
}

// outputsText describes the outputs: "text as greeting, record".
func outputsText(w *plan.Wraps) string {
	if len(w.Outputs) == 0 {
		return "all fields of its output, over the input artifact"
	}
	var parts []string
	for _, theirs := range slices.Sorted(maps.Keys(w.Outputs)) {
		if ours := w.Outputs[theirs]; ours != "" && ours != theirs {
			theirs += " as " + ours
		}
		parts = append(parts, theirs)
	}
	return strings.Join(parts, ", ") + ", over the input artifact"
}
