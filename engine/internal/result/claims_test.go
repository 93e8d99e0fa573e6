package result

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// DIALECT B2: the optional members of result.json are read for nodes with a contract and ignored for other nodes.
func TestClaims(t *testing.T) {
	const head, tail = `{"summary":"s",` + empty + `,"signals":{"plateau_suspected":false,"risk":"low","notes":""}`, "}\n"
	for _, tt := range []struct{ name, wrote, want string }{
		{"none", ``, ``},
		{
			"all", `,"outcome":"fail","next":"plan","message":"m","feedback":"f","artifact":{"b":1,"a":[12345678901234567890]},
			"escalation":{"type":"unclear","message":"m","questions":["q"],"options":["a","b"]},"steps":{"s2":"failed","s1":"done"},
			"usage":{"input_tokens":1,"output_tokens":2,"cost_usd":0.5}`,
			`,"outcome":"fail","next":"plan","message":"m","feedback":"f","artifact":{"b":1,"a":[12345678901234567890]},` +
				`"escalation":{"type":"unclear","message":"m","questions":["q"],"options":["a","b"]},"steps":{"s1":"done","s2":"failed"},` +
				`"usage":{"input_tokens":1,"output_tokens":2,"cost_usd":0.5}`,
		},
		{"a list is lines", `,"feedback":["one",{"two":2},"three\nfour"]`, `,"feedback":"- one\n- {\"two\":2}\n- three\n  four\n"`},
		{"of other types", `,"next":1,"message":[],"escalation":"help","steps":["s"],"usage":"much","artifact":null,"outcome":null`, ``},
		{"not UTF-8", ",\"artifact\":\"a\xffb\"", `,"artifact":"a�b"`},
		{"an empty escalation is one", `,"escalation":{}`, `,"escalation":{}`},
		{"too long", `,"message":"` + strings.Repeat("é", maxText) + `"`, `,"message":"` + strings.Repeat("é", maxText/2) + `"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wrote := []byte(`{"summary":"s"` + tt.wrote + `}`)
			for contract, want := range map[bool]string{true: head + tt.want + tail, false: head + tail} {
				got := testkit.Must(Normalize(wrote, nil, contract))
				if diff := cmp.Diff(want, string(got.Result.JSON())); diff != "" {
					t.Errorf("contract %t: %s", contract, diff)
				}
			}
		})
	}
}

// An unknown outcome is reported, not guessed.
func TestUnknownOutcome(t *testing.T) {
	for _, word := range []string{`"done"`, `"timeout"`, `"Success"`, `7`, `""`} {
		wrote := []byte(`{"summary":"s","outcome":` + word + `}`)
		if _, err := Normalize(wrote, nil, false); err != nil {
			t.Errorf("without a contract: %v", err)
		}
		_, err := Normalize(wrote, nil, true)
		want := "agent wrote invalid result.json: outcome " + word + " is none of success, fail, reject, retry, error, escalate, skip"
		if failure.KindOf(err) != failure.ResultInvalid || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// DIALECT B2: decision: error is the outcome error; an escalation overrides every other claim.
func TestClaimed(t *testing.T) {
	for _, tt := range []struct {
		claims Claims
		ask    string
		want   plan.Outcome
		why    string
	}{
		{Claims{}, "", plan.OutcomeSuccess, ""},
		{Claims{}, "stop", plan.OutcomeSuccess, ""},
		{Claims{}, "error", plan.OutcomeError, ""},
		{Claims{Outcome: "fail", Message: "m"}, "error", plan.OutcomeFail, "m"},
		{Claims{Outcome: "success", Escalation: &Escalation{}}, "", plan.OutcomeEscalate, ""},
		{Claims{Outcome: "escalate", Message: "m"}, "", plan.OutcomeEscalate, "m"},
		{Claims{Message: "m", Escalation: &Escalation{Message: "e"}}, "", plan.OutcomeEscalate, "m"},
		{Claims{Escalation: &Escalation{Message: "e"}}, "", plan.OutcomeEscalate, "e"},
	} {
		if got, why := tt.claims.Claimed(tt.ask), tt.claims.Why(); got != tt.want || why != tt.why {
			t.Errorf("%+v, %q: %s %q, want %s %q", tt.claims, tt.ask, got, why, tt.want, tt.why)
		}
	}
}

// Under a contract, the message or the outcome replaces a missing summary; without a contract a summary is required.
func TestMessageReplacesSummary(t *testing.T) {
	for wrote, want := range map[string]string{
		`{"outcome":"fail","message":"the build is red"}`: "the build is red",
		`{"outcome":"reject"}`:                            "reject",
	} {
		got, err := Normalize([]byte(wrote), nil, true)
		if err != nil || got.Result.Summary != want {
			t.Errorf("%s: summary %q, %v", wrote, got.Result.Summary, err)
		}
		if _, err := Normalize([]byte(wrote), nil, false); err == nil || !strings.Contains(err.Error(), "it has no summary") {
			t.Errorf("%s without a contract: %v", wrote, err)
		}
	}
	testkit.Fails(t, testkit.Error(Normalize([]byte(`{"summary":7,"message":"m"}`), nil, true)), "summary is not a string")
}

// U127: the user reads the questions of an escalation, too.
func TestEscalationQuestions(t *testing.T) {
	for _, tt := range []struct {
		claims Claims
		want   string
	}{
		{Claims{}, ""},
		{Claims{Message: "stuck"}, "stuck"},
		{Claims{Escalation: &Escalation{Message: "which one?"}}, "which one?"},
		{Claims{Escalation: &Escalation{Message: "it is not clear.", Questions: []string{"Google?", "GitHub?"}}}, "it is not clear. (it asks: Google? GitHub?)"},
		{Claims{Escalation: &Escalation{Questions: []string{"Google?"}}}, "it asks: Google?"},
	} {
		testkit.Equal(t, tt.want, tt.claims.Asking())
	}
}
