package compile

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// approvals reads the decisions on tool calls; nil if absent.
func (m object) approvals() *plan.Approvals {
	inner, ok := m.objectAt("approvals")
	if !ok {
		return nil
	}
	inner.checkKeys(&dialect.Approvals)
	return &plan.Approvals{
		Default:        oneOf[plan.Approval](inner, "default", &dialect.Approvals),
		Timeout:        inner.seconds("timeout"),
		OnTimeout:      oneOf[plan.Approval](inner, "on_timeout", &dialect.Approvals),
		NonInteractive: oneOf[plan.Approval](inner, "non_interactive", &dialect.Approvals),
		Categories:     inner.approvalCategories(),
		Rules:          inner.approvalRules(),
		Protected:      inner.protectedPaths(),
	}
}

func (m object) approvalCategories() map[string]plan.Approval {
	inner, ok := m.objectAt("categories")
	if !ok || len(inner.node.Entries) == 0 {
		return nil
	}
	known := dialect.Categories.Names()
	decisions := map[string]plan.Approval{}
	for _, e := range inner.node.Entries {
		if !slices.Contains(known, e.Key) {
			inner.Errorf(e.KeyPos, yamldoc.CodeChoice, didYouMean(e.Key, known), "unknown category %q", e.Key)
			continue
		}
		if decision := oneOf[plan.Approval](inner, e.Key, &dialect.Categories); decision != "" {
			decisions[e.Key] = decision
		}
	}
	return decisions
}

func (m object) approvalRules() []plan.ApprovalRule {
	items, _ := m.list("rules")
	var rules []plan.ApprovalRule
	reached := map[int]yamldoc.Pos{} // rules without faults
	for _, item := range items {
		if item.Kind != yamldoc.Map {
			m.wrongItem(item, "a rule", "a map with policy, and operation or pattern")
			continue
		}
		rule, sound := m.nested(item, "a rule").approvalRule()
		for i, earlier := range rules {
			if at, counts := reached[i]; counts && sound && covers(earlier, rule) {
				m.Warnf(item.Pos, yamldoc.CodeNoEffect, "put it before that rule, or remove it", "the rule is never reached: the rule in line %d matches all of its calls", at.Line)
				break
			}
		}
		if sound {
			reached[len(rules)] = item.Pos
		}
		rules = append(rules, rule)
	}
	return rules
}

// approvalRule reads one rule and reports whether it has no fault. An unknown key is an error: a rule without its
// pattern would match too many calls.
func (m object) approvalRule() (plan.ApprovalRule, bool) {
	before, known := len(*m.Diagnostics), dialect.Rule.Names()
	for _, e := range m.node.Entries {
		if !slices.Contains(known, e.Key) {
			m.Errorf(e.KeyPos, yamldoc.CodeChoice, didYouMean(e.Key, known), "unknown key %q in a rule", e.Key)
		}
	}
	var r plan.ApprovalRule
	r.Name, _ = m.text("name")
	r.Operation = oneOf[string](m, "operation", &dialect.Rule)
	r.Policy = oneOf[plan.Approval](m, "policy", &dialect.Rule)
	if !m.has("policy") {
		m.Errorf(m.node.Pos, yamldoc.CodeMissing, didYouMean("", dialect.Rule.Choices("policy")), "a rule has no policy")
	}
	pattern, v := m.text("pattern")
	if v.Node != nil {
		m.checkRulePattern(v, pattern, r.Operation)
		r.Pattern = pattern
	}
	return r, len(*m.Diagnostics) == before
}

// checkRulePattern reports an invalid pattern: a regular expression for commands, a glob of paths for all other
// operations.
func (m object) checkRulePattern(v value, pattern, operation string) {
	pattern, _ = strings.CutPrefix(pattern, "!")
	if operation != string(sdk.CategoryTerminal) {
		m.checkGlob(v, pattern)
		return
	}
	switch _, err := regexp.Compile(pattern); {
	case err != nil:
		m.Errorf(v.Pos, yamldoc.CodePattern, "write a regular expression in the syntax of Go (RE2); it matches anywhere in the command, ^ and $ are its ends", "%s: %v", v.key, err)
	case pattern == "":
		m.Errorf(v.Pos, yamldoc.CodePattern, "write the commands that the rule does not match", "%s has nothing after !", v.key)
	}
}

// checkGlob reports an invalid glob, or one that matches no path of the project.
func (m object) checkGlob(v value, glob string) {
	fault, hint := "", ""
	switch trimmed := strings.TrimSuffix(glob, "/"); {
	case !doublestar.ValidatePattern(glob):
		fault, hint = "is not a valid glob", "* stands for a part of a name, ** for directories, [ab] and {a,b} for one of several"
	case trimmed == "":
		fault, hint = "is empty", "write a glob such as **/*.go"
	case trimmed != glob:
		fault, hint = "ends with a slash, which no path does", fmt.Sprintf("write %s/** for all files in it", trimmed)
	case strings.HasPrefix(glob, "/"):
		fault, hint = "begins with a slash", "paths are relative to the project, such as docs/**"
	case path.Clean(glob) != glob || glob == ".." || strings.HasPrefix(glob, "../"):
		fault, hint = "matches no path", "write it without . and .. as elements, relative to the project"
	}
	if fault != "" {
		m.Errorf(v.Pos, yamldoc.CodePattern, hint, "%s %q %s", v.key, glob, fault)
	}
}

// covers reports whether a rule matches all calls that a later rule matches.
func covers(earlier, later plan.ApprovalRule) bool {
	if earlier.Operation != "" && earlier.Operation != later.Operation {
		return false
	}
	switch commands := string(sdk.CategoryTerminal); {
	case earlier.Pattern == "":
		return true
	case later.Pattern == "", (earlier.Operation == commands) != (later.Operation == commands):
		return false
	case earlier.Operation == commands:
		return earlier.Pattern == later.Pattern || earlier.Pattern == ".*"
	default:
		return earlier.Pattern == later.Pattern || earlier.Pattern == "**"
	}
}

func (m object) protectedPaths() []string {
	items, _ := m.list("protected")
	var globs []string
	for _, item := range items {
		v := value{item, "a protected path"}
		switch {
		case item.Kind != yamldoc.Text:
			m.wrongType(v, "a glob")
		case strings.HasPrefix(item.Source, "!"):
			m.Errorf(item.Pos, yamldoc.CodePattern, "name the paths that are protected", "%s cannot be negated", v.key)
		default:
			m.checkGlob(v, item.Source)
			globs = append(globs, item.Source)
		}
	}
	return globs
}
