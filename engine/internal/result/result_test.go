package result

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

const empty = `"work":{"items_completed":[],"files_touched":[]},"artifacts":{"outputs":[],"paths":[]}`

// U097: the normal form and the precedence are those of BASH-BEHAVIOUR 4.5 to 4.7.
func TestNormalize(t *testing.T) {
	tests := []struct {
		name, result, status, want, ask, decision, reason string
	}{
		{
			name:   "whole",
			result: `{"extra":1,"signals":{"notes":"n","risk":"medium"},"summary":"s","work":{"files_touched":["a"],"items_completed":["b",null,{"x": 1}]},"artifacts":{"outputs":[{"x":1}],"paths":["p"]}}`,
			want:   `{"summary":"s","work":{"items_completed":["b","null","{\"x\":1}"],"files_touched":["a"]},"artifacts":{"outputs":[{"x":1}],"paths":["p"]},"signals":{"plateau_suspected":false,"risk":"medium","notes":"n"}}`,
			ask:    "", decision: "continue", reason: "n",
		},
		{
			name: "wrong types become defaults", result: `{"summary":"s","work":7,"artifacts":{"outputs":{}},"signals":{"risk":1,"plateau_suspected":"yes"}}`,
			want: `{"summary":"s",` + empty + `,"signals":{"plateau_suspected":false,"risk":"low","notes":""}}`, decision: "continue",
		},
		{
			name: "plateau shows as stop but asks nothing", result: `{"summary":"","signals":{"plateau_suspected":true}}`,
			want: `{"summary":"",` + empty + `,"signals":{"plateau_suspected":true,"risk":"low","notes":""}}`, decision: "stop",
		},
		{
			name: "high risk alone does not stop", result: `{"summary":"s","signals":{"risk":"high"}}`,
			want: `{"summary":"s",` + empty + `,"signals":{"plateau_suspected":false,"risk":"high","notes":""}}`, decision: "continue",
		},
		{
			name: "explicit decision", result: `{"summary":"s","decision":"error","signals":{"notes":"broken"}}`,
			want: `{"summary":"s",` + empty + `,"signals":{"plateau_suspected":false,"risk":"low","notes":"broken"}}`, ask: "error", decision: "error", reason: "broken",
		},
		{
			name: "an explicit stop is asked, and history shows the signals", result: `{"summary":"s","decision":"stop","reason":"because"}`,
			want: `{"summary":"s",` + empty + `,"signals":{"plateau_suspected":false,"risk":"low","notes":""}}`, ask: "stop", decision: "continue",
		},
		{
			name: "result wins over status", result: `{"summary":"r"}`, status: `{"summary":"st","decision":"stop"}`,
			want: `{"summary":"r",` + empty + `,"signals":{"plateau_suspected":false,"risk":"low","notes":""}}`, decision: "continue",
		},
		{
			name: "status stop", status: `{"decision":"stop","reason":"all done","summary":"s"}`,
			want: `{"summary":"s",` + empty + `,"signals":{"plateau_suspected":false,"risk":"low","notes":"all done"}}`, ask: "stop", decision: "stop", reason: "all done",
		},
		{
			name: "status errors", status: `{"decision":"continue","errors":["e1","e2"]}`,
			want: `{"summary":"",` + empty + `,"signals":{"plateau_suspected":false,"risk":"high","notes":"e1"}}`, ask: "continue", decision: "continue", reason: "e1",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := testkit.Must(Normalize(bytesOrNil(tt.result), bytesOrNil(tt.status), false))
			testkit.Equal(t, tt.want+"\n", string(got.Result.JSON()))
			testkit.Equal(t, []string{tt.ask, tt.decision, tt.reason}, []string{got.Ask, got.Decision, got.Reason})
		})
	}
}

// D02: a missing or invalid result is a typed error.
func TestNormalizeRefuses(t *testing.T) {
	tests := []struct {
		name, result, status string
		kind                 failure.Kind
	}{
		{"nothing", "", "", failure.ResultMissing},
		{"no JSON", "{", "", failure.ResultInvalid},
		{"an array", `[1]`, "", failure.ResultInvalid},
		{"null", `null`, "", failure.ResultInvalid},
		{"no summary", `{"work":{}}`, "", failure.ResultInvalid},
		{"summary is a number", `{"summary":1}`, "", failure.ResultInvalid},
		{"broken status", "", "nonsense", failure.ResultInvalid},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Normalize(bytesOrNil(tt.result), bytesOrNil(tt.status), false)
			if got := failure.KindOf(err); got != tt.kind {
				t.Errorf("kind %q, want %q (%v)", got, tt.kind, err)
			}
		})
	}
}

func bytesOrNil(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

// Every file of an agent is normalized or causes a typed error. The normal form stays the same when normalized again.
func FuzzNormalize(f *testing.F) {
	f.Add([]byte(`{"summary":"s","work":{"items_completed":[1,null]}}`))
	f.Add([]byte(`{"summary":"s","decision":"stop","artifacts":{"paths":[{}]}}`))
	f.Add([]byte(`{"summary":"s","outcome":"fail","artifact":{"n":12345678901234567890,"t":"<a>"},"feedback":["a","b"],"steps":{"1":"failed"},"usage":{"cost_usd":0.1}}`))
	f.Add([]byte(`{"summary":"s","escalation":{"type":"unclear","message":"m","questions":["q",1],"options":null},"next":7,"message":"m"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for i := range 4 {
			r, s, contract := data, []byte(nil), i&2 != 0
			if i&1 != 0 {
				r, s = nil, data
			}
			got, err := Normalize(r, s, contract)
			if err != nil {
				if k := failure.KindOf(err); k != failure.ResultInvalid && k != failure.ResultMissing {
					t.Fatalf("kind %q", k)
				}
				continue
			}
			if !json.Valid(got.Result.JSON()) {
				t.Fatalf("%q is not JSON", got.Result.JSON())
			}
			again := testkit.Must(Normalize(got.Result.JSON(), nil, contract))
			if diff := cmp.Diff(string(got.Result.JSON()), string(again.Result.JSON())); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}
