package approval

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// defaults are the decisions on categories for which a policy has neither an entry nor a default (REQUIREMENTS C6).
var defaults = map[sdk.Category]plan.Approval{
	sdk.CategoryFileRead:        plan.ApprovalAuto,
	sdk.CategoryFileWrite:       plan.ApprovalPrompt,
	sdk.CategoryFileDelete:      plan.ApprovalPrompt,
	sdk.CategoryDirectoryCreate: plan.ApprovalAuto,
	sdk.CategoryTerminal:        plan.ApprovalPrompt,
	sdk.CategoryExternal:        plan.ApprovalPrompt,
}

// byPolicy decides on a call and one of its paths, "" for the call as a whole: by the first matching rule, else by
// the category, else by the default.
func (s Context) byPolicy(p *plan.Approvals, c sdk.ToolCall, path string) Decision {
	if p == nil {
		return Decision{Approval: plan.ApprovalAuto}
	}
	for i, rule := range p.Rules {
		if len(rule.DeliveryModes) > 0 && !slices.Contains(rule.DeliveryModes, s.Mode) {
			continue
		}
		found, err := matches(rule, c, path)
		switch {
		case err != nil: // the compiler refuses such a rule, but a program can build one
			return Decision{plan.ApprovalDeny, fmt.Sprintf("the pattern of %s cannot be read: %v", ruleName(i, rule), err), ruleName(i, rule)}
		case found:
			return Decision{rule.Policy, why(rule.Policy, subject(c, path), ruleName(i, rule)), ruleName(i, rule)}
		}
	}
	if word, set := p.Categories[string(c.Category)]; set && c.Category != "" {
		return Decision{word, why(word, subject(c, path), "policy.approvals.categories."+string(c.Category)), string(c.Category)}
	}
	if p.Default != "" {
		return Decision{p.Default, byDefault(p.Default), RuleDefault}
	}
	return Decision{Approval: cmp.Or(defaults[c.Category], plan.ApprovalPrompt), Rule: RuleDefault}
}

// matches reports whether a rule applies to a path of a call, or to its command.
func matches(r plan.ApprovalRule, c sdk.ToolCall, name string) (bool, error) {
	if r.Operation != "" && r.Operation != string(c.Category) {
		return false, nil
	}
	pattern, negated := strings.CutPrefix(r.Pattern, "!")
	switch {
	case r.Pattern == "":
		return true, nil
	case r.IsOnCommands():
		re, err := regexp.Compile(pattern)
		return err == nil && re.MatchString(c.Command) != negated, err
	case name == "": // the pattern is for paths, and the call has no path
		return false, nil
	default:
		found, err := doublestar.Match(pattern, path.Clean(name))
		return found != negated, err
	}
}

// ruleName returns the rule's name in the journal and in messages.
func ruleName(i int, r plan.ApprovalRule) string {
	return cmp.Or(event.Truncate(r.Name, event.MaxName), "rule "+strconv.Itoa(i+1))
}

// subject returns the path, command or tool that a decision is about.
func subject(c sdk.ToolCall, path string) string {
	switch {
	case path != "":
		return event.Truncate(path, event.MaxName)
	case c.Command != "":
		return event.Truncate(c.Command, event.MaxName)
	default:
		return event.Truncate(c.Tool, event.MaxName)
	}
}

// why returns the reason for a call that is not made.
func why(approval plan.Approval, subject, by string) string {
	switch approval {
	case plan.ApprovalDeny:
		return subject + " is denied by " + by
	case plan.ApprovalSkip:
		return subject + " is left out by " + by
	default:
		return ""
	}
}

func byDefault(approval plan.Approval) string {
	if approval == plan.ApprovalDeny {
		return "tool calls are denied by policy.approvals.default"
	}
	return ""
}
