package outcome

import (
	"strings"
	"testing"
	"unicode/utf8"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

var (
	exit0 = &Process{}
	exit1 = &Process{Failure: failure.New(failure.ProviderCrashed, "x exited with code 1")}
	kill9 = &Process{Failure: failure.New(failure.ProviderCrashed, "x was ended by signal 9 (killed)"), Signaled: true}
)

func TestDecide(t *testing.T) {
	limit := Fault{Message: "exceeded retry limit, last status: 429 Too Many Requests"}
	odd := Fault{Message: "something odd\nsecond line"}
	tests := []struct {
		name    string
		e       Evidence
		want    sdk.Outcome
		kind    failure.Kind
		message string
	}{
		{"all is well", Evidence{WroteEvents: true, FinalStatus: Success, Acted: true, Process: exit0}, sdk.OutcomeSucceeded, "", ""},
		{"all is well without a process", Evidence{WroteEvents: true, FinalStatus: Success, Acted: true}, sdk.OutcomeSucceeded, "", ""},

		{"it reports an error", Evidence{WroteEvents: true, FinalStatus: Failure, Fault: limit, Acted: true, Process: exit1}, sdk.OutcomeRateLimited, failure.ProviderFailed, "x: exceeded retry limit"},
		{"it reports an error and exits well", Evidence{WroteEvents: true, FinalStatus: Failure, Fault: limit, Acted: true, Process: exit0}, sdk.OutcomeRateLimited, failure.ProviderFailed, "429"},
		{"it reports an error of no class", Evidence{WroteEvents: true, FinalStatus: Failure, Fault: odd, Process: exit1}, sdk.OutcomeFailed, failure.ProviderFailed, "x: something odd"},
		{"it reports failure without an error", Evidence{WroteEvents: true, FinalStatus: Failure, Process: exit0}, sdk.OutcomeFailed, failure.ProviderFailed, "no message"},
		{"it reports success after an error", Evidence{WroteEvents: true, FinalStatus: Success, Fault: odd, Acted: true, Process: exit0}, sdk.OutcomeFailed, failure.ProviderFailed, "x: something odd"},
		{"it reports an error and was refused a tool", Evidence{WroteEvents: true, FinalStatus: Failure, Fault: odd, DeniedTools: []string{"Bash"}, Process: exit1}, sdk.OutcomePermissionDenied, failure.ProviderFailed, "Bash"},
		{"a known error explains more than a refusal", Evidence{WroteEvents: true, FinalStatus: Failure, Fault: limit, DeniedTools: []string{"Bash"}, Process: exit1}, sdk.OutcomeRateLimited, failure.ProviderFailed, "429"},
		{"an error and a signal", Evidence{WroteEvents: true, FinalStatus: Failure, Fault: limit, Process: kill9}, sdk.OutcomeRateLimited, failure.ProviderFailed, "429"},

		{"it reports success and exits badly", Evidence{WroteEvents: true, FinalStatus: Success, Acted: true, Process: exit1}, sdk.OutcomeInfrastructure, failure.ProviderCrashed, "x reported success but exited with code 1"},
		{"it was refused a tool", Evidence{WroteEvents: true, FinalStatus: Success, Acted: true, DeniedTools: []string{"Bash", "Write"}, Process: exit0}, sdk.OutcomePermissionDenied, failure.ProviderFailed, "Bash, Write"},
		{"it said and did nothing", Evidence{WroteEvents: true, FinalStatus: Success, Process: exit0}, sdk.OutcomeEmpty, failure.ProviderFailed, "nothing"},

		{"no last word, exit code 0", Evidence{WroteEvents: true, Acted: true, Process: exit0}, sdk.OutcomeInfrastructure, failure.ProviderCrashed, "x ended without the end of its turn"},
		{"no last word, exit code 1", Evidence{WroteEvents: true, Acted: true, Process: exit1}, sdk.OutcomeInfrastructure, failure.ProviderCrashed, "exited with code 1"},
		{"no last word, no process", Evidence{WroteEvents: true, Acted: true}, sdk.OutcomeInfrastructure, failure.ProviderCrashed, "without"},
		{"no last word, but a known error", Evidence{WroteEvents: true, Fault: limit, Process: exit1}, sdk.OutcomeRateLimited, failure.ProviderFailed, "429"},
		{"no last word, an error of no class", Evidence{WroteEvents: true, Fault: odd, Process: exit1}, sdk.OutcomeInfrastructure, failure.ProviderCrashed, "exited with code 1"},
		{"no last word, a known error, a signal", Evidence{WroteEvents: true, Fault: limit, Process: kill9}, sdk.OutcomeInfrastructure, failure.ProviderCrashed, "signal 9"},

		{"plain text", Evidence{Acted: true, Process: exit0}, sdk.OutcomeSucceeded, "", ""},
		{"plain text that reads like an error", Evidence{Acted: true, Process: exit0, PlainLines: []string{"rate limit"}}, sdk.OutcomeSucceeded, "", ""},
		{"no text at all", Evidence{Process: exit0}, sdk.OutcomeEmpty, failure.ProviderFailed, "nothing"},
		{"plain text and a bad end", Evidence{Acted: true, Process: exit1, PlainLines: []string{"working", "done"}}, sdk.OutcomeInfrastructure, failure.ProviderCrashed, "exited with code 1"},
		{"plain text with the reason", Evidence{Acted: true, Process: exit1, PlainLines: []string{"working", " not logged in "}}, sdk.OutcomeNeedsPerson, failure.ProviderFailed, "x: not logged in"},
		{"plain text and a signal", Evidence{Acted: true, Process: kill9, PlainLines: []string{"not logged in"}}, sdk.OutcomeInfrastructure, failure.ProviderCrashed, "signal 9"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.e.Detail = "stderr"
			got, f := Agent{Name: "x", FinalEvent: "the end of its turn"}.Decide(tt.e)
			if got != tt.want {
				t.Errorf("outcome %q, want %q (%+v)", got, tt.want, f)
			}
			switch {
			case f == nil && tt.kind != "":
				t.Error("no failure")
			case f != nil && (f.Kind != tt.kind || !strings.Contains(f.Message, tt.message) || strings.Contains(f.Message, "\n")):
				t.Errorf("failure %+v, want %q with %q", f, tt.kind, tt.message)
			}
		})
	}
	if strings.Contains(exit1.Failure.Message, "success") {
		t.Error("the evidence was changed")
	}
}

// TestOtherProviders: the evidence of an agent with a protocol, or of a model over HTTP, has no
// process.
func TestOtherProviders(t *testing.T) {
	tests := []struct {
		name  string
		agent Agent
		fault Fault
		want  sdk.Outcome
	}{
		{"JSON-RPC asks for a login", Agent{Name: "acp", Codes: map[string]Class{"-32000": Login}}, Fault{Codes: []string{"-32000"}, Message: "Authentication required"}, sdk.OutcomeNeedsPerson},
		{"JSON-RPC internal error names a limit", Agent{Name: "acp", Codes: map[string]Class{"-32603": Failed}}, Fault{Codes: []string{"-32603"}, Message: "rate limit"}, sdk.OutcomeRateLimited},
		{"the model refuses", Agent{Name: "acp"}, Fault{Codes: []string{"refusal"}}, sdk.OutcomeFailed},
		{"Anthropic is overloaded", Agent{Name: "http"}, Fault{Codes: []string{"overloaded_error"}, Status: 529, Message: "Overloaded"}, sdk.OutcomeInfrastructure},
		{"OpenAI's quota is used up", Agent{Name: "http"}, Fault{Codes: []string{"insufficient_quota", "insufficient_quota"}, Status: 429}, sdk.OutcomeNeedsPerson},
		{"refused connection", Agent{Name: "http"}, Fault{Message: "Post \"http://127.0.0.1:1\": dial tcp: connect: connection refused"}, sdk.OutcomeInfrastructure},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, f := tt.agent.Decide(Evidence{WroteEvents: true, FinalStatus: Failure, Fault: tt.fault})
			if got != tt.want || f == nil {
				t.Errorf("outcome %q, want %q (%+v)", got, tt.want, f)
			}
		})
	}
}

// FuzzDecide checks arbitrary evidence. Only success has no failure. No text changes a failure or an
// abnormal end to success, or a clean success to failure. No wait is negative or longer than
// maxWait.
func FuzzDecide(f *testing.F) {
	f.Add(true, uint8(1), "rate_limit", 429, "try again in 5s", true, uint8(1))
	f.Add(false, uint8(0), "", 0, "resets 3pm (Europe/Berlin)", true, uint8(0))
	f.Add(true, uint8(2), "refusal", 0, "limit reached|1795179600", false, uint8(2))
	f.Add(true, uint8(0), "x", -1, "Try again at Feb 30th, 2026 12:00 AM", false, uint8(3))
	agent := Agent{Name: "x", Signs: []Sign{{Class: Setup, Texts: []string{"root"}}}}
	f.Fuzz(func(t *testing.T, spoke bool, last uint8, word string, status int, text string, did bool, end uint8) {
		e := Evidence{
			WroteEvents: spoke, FinalStatus: []FinalStatus{None, Success, Failure}[last%3], Acted: did, PlainLines: strings.Split(text, "\n"),
			Fault: Fault{Codes: []string{word}, Status: status, Message: text}, Process: []*Process{nil, exit0, exit1, kill9}[end%4], Now: noon,
		}
		outcome, trouble := agent.Decide(e)
		if (outcome == sdk.OutcomeSucceeded) != (trouble == nil) {
			t.Fatalf("%q with %v", outcome, trouble)
		}
		bad := e.crash() != nil
		if outcome == sdk.OutcomeSucceeded && (bad || spoke && e.Fault.isSet()) {
			t.Errorf("success against evidence: %+v", e)
		}
		if trouble != nil {
			if trouble.Hint == "" && !trouble.Retryable {
				t.Errorf("no way out: %+v", trouble)
			}
			if s := trouble.RetryAfterSeconds; s < 0 || s > maxWait.Seconds() {
				t.Errorf("wait of %g s", s)
			}
			if utf8.ValidString(text) && !utf8.ValidString(trouble.Message) {
				t.Errorf("message %q is torn", trouble.Message)
			}
		}
		e.Fault = Fault{}
		if outcome, trouble := agent.Decide(e); !bad && did && (!spoke || e.FinalStatus == Success) && outcome != sdk.OutcomeSucceeded {
			t.Errorf("text alone made %q of a success: %v", outcome, trouble)
		}
	})
}
