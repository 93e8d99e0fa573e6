package outcome

import (
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// TestTable checks the table against the kernel's use. Only classes that a retry can fix are
// retryable, and classes that are not retryable have a hint.
func TestTable(t *testing.T) {
	for class, row := range table {
		t.Run(string(class), func(t *testing.T) {
			f := Agent{Name: "agent"}.failure(Reason{Class: class}, "message", "detail")
			if row.retryable != f.Retryable || f.Kind != row.kind || f.Message != "message" || f.Detail != "detail" {
				t.Errorf("failure %+v of %+v", f, row)
			}
			if strings.Contains(f.Hint, "{") {
				t.Errorf("hint %q has an open place", f.Hint)
			}
			if !f.Retryable && f.Hint == "" {
				t.Error("no way out: neither tried again nor advised")
			}
			if class.Outcome() == sdk.OutcomeNeedsPerson && f.Retryable {
				t.Error("retryable although the user is needed")
			}
			if (f.Kind == failure.ConfigInvalid || f.Kind == failure.BudgetExceeded) && f.Retryable {
				t.Errorf("%s is not transient", f.Kind)
			}
			if class.Outcome() == sdk.OutcomeSucceeded || class.Outcome() == "" {
				t.Errorf("trouble has the outcome %q", class.Outcome())
			}
		})
	}
	if Class("of a later version").Outcome() != sdk.OutcomeFailed {
		t.Error("an unknown class is not failed")
	}
}

func TestHints(t *testing.T) {
	a := Agent{
		Name:  "x",
		Hints: map[Class]string{Login: "run {agent} login", Config: "see {agent}.toml"},
		Signs: []Sign{{Class: Config, Texts: []string{"no prompt"}, Hint: "write a prompt"}, {Class: Config, Texts: []string{"bad flag"}}},
	}
	tests := []struct{ name, message, want string }{
		{"of the table", "rate limit", "wait until the limit is lifted, then resume"},
		{"with the agent's name", "quota exceeded", "check the plan and billing of x's account, then resume"},
		{"of the agent", "not logged in", "run x login"},
		{"of the sign", "no prompt given", "write a prompt"},
		{"of the agent for its own sign", "bad flag", "see x.toml"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, f := a.Decide(Evidence{WroteEvents: true, FinalStatus: Failure, Fault: Fault{Message: tt.message}})
			if f.Hint != tt.want {
				t.Errorf("hint %q, want %q", f.Hint, tt.want)
			}
		})
	}
}
