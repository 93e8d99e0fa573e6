package mock

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestAnswers(t *testing.T) {
	tests := []struct {
		config string
		want   sdk.HookAnswer
	}{
		{``, sdk.HookAnswer{Action: sdk.ActionContinue}},
		{`{}`, sdk.HookAnswer{Action: sdk.ActionContinue}},
		{
			`{"answer":"modify_context","context":"mind the gap","reason":"r","facts":{"n":1},"outcome":"fail"}`,
			sdk.HookAnswer{Action: sdk.ActionModifyContext, Context: "mind the gap", Reason: "r", Facts: json.RawMessage(`{"n":1}`), Outcome: "fail"},
		},
	}
	for _, tt := range tests {
		got := must(NewAction().Run(t.Context(), sdk.HookRequest{Config: json.RawMessage(tt.config)}))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.config, diff)
		}
	}
}

func TestActionRecords(t *testing.T) {
	dir := t.TempDir()
	req := sdk.HookRequest{
		Key: "hook:1", Point: sdk.IterationEnd, Session: "s", Node: "n", Stage: "st", Iteration: 3, Provider: "p", Status: "running",
		Summary: "sum", Result: json.RawMessage(`{"a":1}`), Artifact: "art", Context: "ctx", WorkDir: dir, Config: json.RawMessage(`{"record":"hooks.jsonl"}`),
	}
	if _, err := NewAction().Run(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	line := must(os.ReadFile(filepath.Join(dir, "hooks.jsonl")))
	var got HookRecord
	check(t, json.Unmarshal(line, &got))
	want := HookRecord{
		Key: "hook:1", Point: sdk.IterationEnd, Session: "s", Node: "n", Stage: "st", Iteration: 3, Provider: "p", Status: "running",
		Summary: "sum", Result: json.RawMessage(`{"a":1}`), Artifact: "art", Context: "ctx", WorkDir: dir,
	}
	compare(t, want, got)
	req.Config = json.RawMessage(`{"record":"."}`)
	if _, err := NewAction().Run(t.Context(), req); err == nil {
		t.Error("a record that cannot be written: no error")
	}
}

func TestActionFaults(t *testing.T) {
	var ends []processEnd
	a := &Action{process: process{end: func(how string, code int) { ends = append(ends, processEnd{how, code}) }}}
	_, err := a.Run(t.Context(), sdk.HookRequest{Config: json.RawMessage(`{"failure":{}}`)})
	if failure.KindOf(err) != failure.HookFailed {
		t.Errorf("failure: %v", err)
	}
	_, err = a.Run(t.Context(), sdk.HookRequest{Config: json.RawMessage(`{"crash":"panic"}`)})
	if !errors.Is(err, errCrash) || len(ends) != 1 || ends[0] != (processEnd{"panic", 0}) {
		t.Errorf("crash: %v, %v", err, ends)
	}
}

func TestUnusableAction(t *testing.T) {
	tests := []struct{ config, want string }{
		{`{"anwser":"pause"}`, `config: unknown key "anwser", did you mean "answer"?`},
		{`{"answer":"halt"}`, `config: /answer: value must be one of 'continue', 'pause', 'abort', 'restart_stage', 'modify_context'`},
		{`{"facts":1}`, `config: /facts: got number, want object`},
	}
	for _, tt := range tests {
		err := NewAction().Validate(t.Context(), sdk.ValidateRequest{Config: json.RawMessage(tt.config)})
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.config, err, tt.want)
		}
		if _, err := NewAction().Run(t.Context(), sdk.HookRequest{Config: json.RawMessage(tt.config)}); err == nil || err.Error() != tt.want {
			t.Errorf("%s: Run: got %v", tt.config, err)
		}
	}
}
