package approval_test

import (
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/approval"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

func on(c sdk.Category, paths ...string) sdk.ToolCall {
	return sdk.ToolCall{Tool: "some_tool", Category: c, Paths: paths}
}

func command(line string, paths ...string) sdk.ToolCall {
	return sdk.ToolCall{Tool: "run_terminal", Category: sdk.CategoryTerminal, Command: line, Paths: paths}
}

// U175, C6: Decide returns a policy's decision on a call, with its reason and rule.
func TestPolicy(t *testing.T) {
	example := &plan.Approvals{ // DIALECT B3
		Default: "prompt",
		Categories: map[string]plan.Approval{
			"file_read": "auto", "file_write": "prompt", "file_delete": "skip", "terminal_command": "deny",
		},
		Rules: []plan.ApprovalRule{
			{Name: "tests-are-cheap", Operation: "file_write", Pattern: "**/*_test.go", Policy: "auto"},
			{Name: "no-docs", Operation: "file_write", Pattern: "docs/**", Policy: "deny"},
			{Operation: "file_write", Pattern: "!src/**", Policy: "skip"},
			{Name: "git", Operation: "terminal_command", Pattern: "^git (status|diff)( |$)", Policy: "auto"},
			{Name: "only-make", Operation: "terminal_command", Pattern: "!^make ", Policy: "prompt"},
			{Name: "anything-here", Pattern: "scratch/**", Policy: "auto"},
		},
	}
	all := &plan.Approvals{Rules: []plan.ApprovalRule{{Name: "all", Policy: "deny"}}}
	for _, tt := range []struct {
		name   string
		policy *plan.Approvals
		call   sdk.ToolCall
		want   approval.Decision
	}{
		{"a category", example, on("file_read", "a.go"), approval.Decision{"auto", "", "file_read"}},
		{"a category that denies", example, command("make x"), approval.Decision{"deny", "make x is denied by policy.approvals.categories.terminal_command", "terminal_command"}},
		{"a category that skips", example, on("file_delete", "a.go"), approval.Decision{"skip", "a.go is left out by policy.approvals.categories.file_delete", "file_delete"}},
		{"the default", example, on("external_request"), approval.Decision{"prompt", "", "default"}},
		{"a rule", example, on("file_write", "src/a_test.go"), approval.Decision{"auto", "", "tests-are-cheap"}},
		{"a rule, at the top", example, on("file_write", "a_test.go"), approval.Decision{"auto", "", "tests-are-cheap"}},
		{"a path that is not clean", example, on("file_write", "./src/../docs/a.md"), approval.Decision{"deny", "./src/../docs/a.md is denied by no-docs", "no-docs"}},
		{"the first that matches", example, on("file_write", "docs/a_test.go"), approval.Decision{"auto", "", "tests-are-cheap"}},
		{"a rule of another operation", example, on("file_read", "docs/a.md"), approval.Decision{"auto", "", "file_read"}},
		{"negated, without a name", example, on("file_write", "lib/a.go"), approval.Decision{"skip", "lib/a.go is left out by rule 3", "rule 3"}},
		{"negated, and it is that", example, on("file_write", "src/a.go"), approval.Decision{"prompt", "", "file_write"}},
		{"without an operation", example, on("file_delete", "scratch/a"), approval.Decision{"auto", "", "anything-here"}},
		{"a pattern of paths is none of commands", example, command("make scratch/a", "scratch/a"), approval.Decision{"deny", "make scratch/a is denied by policy.approvals.categories.terminal_command", "terminal_command"}},
		{"a pattern, and no path", example, on("file_write"), approval.Decision{"prompt", "", "file_write"}},
		{"a command", example, command("git status"), approval.Decision{"auto", "", "git"}},
		{"another command", example, command("git statusx"), approval.Decision{"prompt", "", "only-make"}},
		{"no category", example, sdk.ToolCall{Tool: "x"}, approval.Decision{"prompt", "", "default"}},
		{"no category, with paths", example, on("", "scratch/a"), approval.Decision{"auto", "", "anything-here"}},
		{"a rule for all", all, sdk.ToolCall{Tool: "x"}, approval.Decision{"deny", "x is denied by all", "all"}},
		{"a rule for all, a path", all, on("file_read", "a"), approval.Decision{"deny", "a is denied by all", "all"}},
		{"the strictest path", example, on("file_write", "a_test.go", "lib/a.go", "docs/a.md", "src/a.go"), approval.Decision{"deny", "docs/a.md is denied by no-docs", "no-docs"}},
		{"prompt before skip", example, on("file_write", "lib/a.go", "src/a.go"), approval.Decision{"prompt", "", "file_write"}},
		{"skip before auto", example, on("file_write", "a_test.go", "lib/a.go"), approval.Decision{"skip", "lib/a.go is left out by rule 3", "rule 3"}},
		{"a glob that is none", &plan.Approvals{Rules: []plan.ApprovalRule{{Pattern: "a[", Policy: "auto"}}}, on("file_read", "a"), approval.Decision{
			"deny", "the pattern of rule 1 cannot be read: syntax error in pattern", "rule 1",
		}},
		{"an expression that is none", &plan.Approvals{Rules: []plan.ApprovalRule{{Name: "x", Operation: "terminal_command", Pattern: "!(", Policy: "auto"}}}, command("a"), approval.Decision{
			"deny", "the pattern of x cannot be read: error parsing regexp: missing closing ): `(`", "x",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			testkit.Equal(t, tt.want, approval.Decide(tt.policy, tt.call, approval.Context{Project: "/p", Person: true}))
		})
	}
}

// C6: a category without an entry in the policy has its own default. A default of the policy applies to all
// categories.
func TestCategoryDefaults(t *testing.T) {
	want := map[sdk.Category]plan.Approval{
		"": "prompt", "file_read": "auto", "file_write": "prompt", "file_delete": "prompt",
		"directory_create": "auto", "terminal_command": "prompt", "external_request": "prompt",
	}
	for _, c := range append(sdk.Categories(), "") {
		for policy, want := range map[*plan.Approvals]plan.Approval{{}: want[c], {Default: "deny"}: "deny", {Default: "auto"}: "auto"} {
			r := approval.Decide(policy, on(c, "a.go"), approval.Context{Project: "/p", Person: true})
			if r.Approval != want || r.Rule != approval.RuleDefault {
				t.Errorf("%q under default %q: %+v, want %s", c, policy.Default, r, want)
			}
		}
	}
}

// K25: without a user, calls that need an answer follow non_interactive; denied calls stay denied.
func TestWithoutUser(t *testing.T) {
	policy := func(word plan.Approval) *plan.Approvals {
		return &plan.Approvals{NonInteractive: word, Rules: []plan.ApprovalRule{
			{Name: "ask", Pattern: "ask/**", Policy: "prompt"}, {Name: "no", Pattern: "no/**", Policy: "deny"},
		}}
	}
	for _, word := range []plan.Approval{"auto", "skip", "fail", "deny"} {
		if r := approval.Decide(policy(word), on("file_write", "ask/a"), approval.Context{}); r.Approval != word || r.Rule != "ask" || (r.Reason == "") != (word == "auto") {
			t.Errorf("%s: %+v", word, r)
		}
		for _, path := range []string{"no/a", ".git/config", "../a"} {
			if r := approval.Decide(policy(word), on("file_write", "ask/a", path), approval.Context{}); r.Approval != "deny" {
				t.Errorf("%s, %s: %+v", word, path, r)
			}
		}
	}
}

// U175: Risk rates a call, and Ask returns its question in one line.
func TestRiskAndQuestion(t *testing.T) {
	for _, tt := range []struct {
		call       sdk.ToolCall
		risk, text string
	}{
		{on("file_read", "a"), "low", "the agent wants to run some_tool: a"},
		{on("directory_create", "a"), "low", "the agent wants to run some_tool: a"},
		{on("file_write", "a", "b"), "medium", "the agent wants to run some_tool: a, b"},
		{on("file_delete"), "medium", "the agent wants to run some_tool"},
		{command("go  test\n./..."), "high", "the agent wants to run run_terminal: go test ./..."},
		{on("external_request"), "high", "the agent wants to run some_tool"},
		{sdk.ToolCall{Tool: "x"}, "high", "the agent wants to run x"},
		{sdk.ToolCall{Tool: "x", Effect: "idempotent"}, "medium", "the agent wants to run x"},
		{sdk.ToolCall{Tool: "x", Effect: "none"}, "low", "the agent wants to run x"},
	} {
		if risk, text := approval.Risk(tt.call), approval.Ask(tt.call); risk != tt.risk || text != tt.text {
			t.Errorf("%+v: %s, %s", tt.call, risk, text)
		}
	}
	if text := approval.Ask(command(strings.Repeat("x", 9000))); len(text) > 1000 {
		t.Errorf("a question of %d bytes", len(text))
	}
}

// U314: a rule for delivery modes counts in no other mode, and in none that is unknown.
func TestDeliveryModes(t *testing.T) {
	p := &plan.Approvals{Rules: []plan.ApprovalRule{
		{Name: "commits", Operation: "terminal_command", Pattern: "^git commit", DeliveryModes: []plan.DeliveryMode{plan.DeliverCommit, plan.DeliverPR}, Policy: "auto"},
		{Name: "else", Policy: "deny"},
	}}
	for mode, want := range map[plan.DeliveryMode]plan.Approval{plan.DeliverCommit: "auto", plan.DeliverPR: "auto", plan.DeliverFiles: "deny", plan.DeliverPatch: "deny", "": "deny"} {
		if got := approval.Decide(p, command("git commit"), approval.Context{Project: "/p", Mode: mode}); got.Approval != want {
			t.Errorf("%s: %+v", mode, got)
		}
	}
}
