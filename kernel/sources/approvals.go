package sources

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// readApprovalLists reads the rules of the decisions on tool calls and checks the protected paths.
func readApprovalLists(policy dialect.Map, a *plan.Approvals) {
	if m, ok := policy.Peek("approvals"); ok {
		a.Rules = readRules(m)
		checkProtected(m)
	}
}

func readRules(m dialect.Map) []plan.ApprovalRule {
	items, _ := m.List("rules")
	var rules []plan.ApprovalRule
	reached := map[int]yamldoc.Pos{} // positions of the rules without faults, by index
	for _, item := range items {
		if item.Kind != yamldoc.Map {
			m.WrongItem(item, "a rule", "a map with policy, and operation or pattern")
			continue
		}
		rule, sound := readRule(m.Nested(item, "a rule"))
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

// readRule reads one rule and reports whether it has no fault. An unknown key is an error, because a rule with a
// misspelled pattern key would match too many calls.
func readRule(m dialect.Map) (plan.ApprovalRule, bool) {
	before := len(*m.Diagnostics)
	var r plan.ApprovalRule
	m.Decode(&dialect.Rule, &r)
	if at := m.Get("pattern"); r.Pattern != "" {
		checkRulePattern(m, at, r)
	}
	return r, len(*m.Diagnostics) == before
}

// checkRulePattern reports an invalid pattern: a regular expression for commands, a glob of paths for all other
// operations.
func checkRulePattern(m dialect.Map, v dialect.Member, r plan.ApprovalRule) {
	pattern, _ := strings.CutPrefix(r.Pattern, "!")
	if !r.IsOnCommands() {
		checkGlob(m, v, pattern)
		return
	}
	switch _, err := regexp.Compile(pattern); {
	case err != nil:
		m.Errorf(v.Pos, yamldoc.CodePattern, "write a regular expression in the syntax of Go (RE2); it matches anywhere in the command, ^ and $ are its ends", "%s: %v", v.Key, err)
	case pattern == "":
		m.Errorf(v.Pos, yamldoc.CodePattern, "write the commands that the rule does not match", "%s has nothing after !", v.Key)
	}
}

// checkGlob reports an invalid glob, or one that matches no path of the project.
func checkGlob(m dialect.Map, v dialect.Member, glob string) {
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
		m.Errorf(v.Pos, yamldoc.CodePattern, hint, "%s %q %s", v.Key, glob, fault)
	}
}

// covers reports whether a rule surely matches all calls that a later rule matches. It compares patterns as text.
func covers(earlier, later plan.ApprovalRule) bool {
	if earlier.Operation != "" && earlier.Operation != later.Operation || len(earlier.DeliveryModes) > 0 {
		return false
	}
	switch {
	case earlier.Pattern == "":
		return true
	case later.Pattern == "", earlier.IsOnCommands() != later.IsOnCommands():
		return false
	case earlier.IsOnCommands():
		return earlier.Pattern == later.Pattern || earlier.Pattern == ".*"
	default:
		return earlier.Pattern == later.Pattern || earlier.Pattern == "**"
	}
}

func checkProtected(m dialect.Map) {
	for _, item := range m.PeekItems("protected") {
		v := dialect.Member{Node: item, Key: "a protected path"}
		switch {
		case item.Kind != yamldoc.Text:
		case strings.HasPrefix(item.Source, "!"):
			m.Errorf(item.Pos, yamldoc.CodePattern, "name the paths that are protected", "%s cannot be negated", v.Key)
		default:
			checkGlob(m, v, item.Source)
		}
	}
}
