package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/stub"
)

func TestMain(m *testing.M) { os.Exit(stub.Main(m, func() error { return goleak.Find() })) }

// environ returns only the variables that commands need, not the whole environment of the tests.
func environ() []string { return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir()} }

// settings returns a configuration for the address of a script.
func settings(api, base, more string) json.RawMessage {
	if api == "openai" {
		base += "/v1"
	}
	return json.RawMessage(fmt.Sprintf(`{"api":%q,"base_url":%q,"model":"stub-model"%s}`, api, base, more))
}

// request returns the request of an attempt in a new workspace.
func request(t *testing.T, config json.RawMessage) sdk.ExecuteRequest {
	t.Helper()
	run := t.TempDir()
	return sdk.ExecuteRequest{
		Key: "attempt:0/v1/r1/-/-/i1#1", Epoch: 1, Session: "s", Node: "n", Iteration: 1, Attempt: 1, Visit: 1,
		Purpose: sdk.PurposeWork, Prompt: "Write hello.txt.", Config: config, WorkDir: t.TempDir(), Grace: time.Second,
		Paths: sdk.Paths{Status: run + "/status.json", Result: run + "/result.json", Progress: run + "/progress.md", Attempt: run},
	}
}

// hello is a script that writes a file and finishes.
const hello = `{"turns":[
	{"text":"I write it.","tool_calls":[{"name":"write_file","input":{"path":"hello.txt","content":"hello\n"}}],"usage":{"input":100,"output":10,"cache_read":5}},
	{"tool_calls":[{"name":"finish","input":{"outcome":"success","summary":"Wrote hello.txt."}}],"usage":{"input":200,"output":20,"cache_read":7},
		"expect":{"tool_result":"created"}}]}`

func TestExecute(t *testing.T) { // U163, U168, U176, U182
	for _, api := range []string{"openai", "anthropic"} {
		t.Run(api, func(t *testing.T) {
			server := stub.Start(t)
			prices := `,"prices":{"stub-model":{"input":2,"output":10,"cached_input":1}}`
			req := request(t, settings(api, server.Script(t, "it", hello), prices))
			x := &plugintest.Exchange{}
			got, err := NewProvider(environ).Execute(t.Context(), req, x)
			if err != nil || got.Outcome != sdk.OutcomeSucceeded {
				t.Fatalf("outcome %s, error %v, %+v", got.Outcome, err, got.Error)
			}
			content, err := os.ReadFile(filepath.Join(req.WorkDir, "hello.txt"))
			if err != nil || string(content) != "hello\n" {
				t.Errorf("hello.txt has %q, error %v", content, err)
			}
			var result struct {
				Summary string
				Work    struct {
					Files []string `json:"files_touched"`
				}
				Outcome *string
			}
			text, err := os.ReadFile(req.Paths.Result)
			if err != nil || json.Unmarshal(text, &result) != nil {
				t.Fatalf("result %s, error %v", text, err)
			}
			if result.Summary != "Wrote hello.txt." || len(result.Work.Files) != 1 || result.Work.Files[0] != "hello.txt" || result.Outcome != nil {
				t.Errorf("result %s", text)
			}
			in, out, read, cost := int64(300), int64(30), int64(12), (300*2+30*10+12*1)/1e6
			want := &sdk.Usage{InputTokens: &in, OutputTokens: &out, CacheReadTokens: &read, CostUSD: &cost}
			got.Usage.CacheWriteTokens, got.Usage.ReasoningTokens = nil, nil // Anthropic's API reports zero, OpenAI's nothing
			if diff := cmp.Diff(want, got.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
			record := x.Record()
			if len(record.Calls) != 1 || len(record.Results) != 1 || len(record.Checkpoints) != 3 {
				t.Fatalf("%d calls, %d results, %d checkpoints", len(record.Calls), len(record.Results), len(record.Checkpoints))
			}
			call := record.Calls[0]
			if call.Tool != "write_file" || call.Turn != 1 || call.Category != sdk.CategoryFileWrite || call.Effect != sdk.EffectIdempotent || !strings.HasPrefix(call.CallID, "t1.1-") {
				t.Errorf("call %+v", call)
			}
			if output := record.Text(sdk.StreamText); output != "I write it.\n\nWrote hello.txt.\n" {
				t.Errorf("output %q", output)
			}
			for _, r := range server.Requests(t, "it") {
				if r.Fault != "" {
					t.Error(r.Fault)
				}
			}
		})
	}
}

func TestQuestion(t *testing.T) {
	base := stub.Start(t).Script(t, "it", `{"turns":[{"text":"unused"}],"side":{"text":"{\"stop\": true}","usage":{"input":5,"output":3}}}`)
	req := request(t, settings("openai", base, ""))
	req.Purpose, req.Prompt = sdk.PurposeQuestion, "Is it done?"
	got, err := NewProvider(environ).Execute(t.Context(), req, &plugintest.Exchange{})
	if err != nil || got.Outcome != sdk.OutcomeSucceeded || got.Output != `{"stop": true}` || got.Usage == nil || *got.Usage.InputTokens != 5 {
		t.Errorf("got %+v, error %v", got, err)
	}
	if _, err := os.Stat(req.Paths.Result); err == nil {
		t.Error("a question leaves a result")
	}
}

// TestKeyStaysInside: keys come from the environment, and reach neither commands nor checkpoints.
func TestKeyStaysInside(t *testing.T) { // U180
	const key = "made-up-key-0123456789"
	env := append(environ(), "TEAM_MODEL="+key)
	base := stub.Start(t)
	url := base.Script(t, "it", `{"turns":[
		{"tool_calls":[{"name":"write_file","input":{"path":"Makefile","content":"all:\n\t@echo value:$$TEAM_MODEL.\n"}}]},
		{"tool_calls":[{"name":"run_terminal","input":{"command":"make all"}}]},
		{"text":"the key is `+key+`","tool_calls":[{"name":"finish","input":{"outcome":"success","summary":"done"}}],"expect":{"tool_result":"value:\\."}}]}`)
	req := request(t, settings("anthropic", url, `,"api_key_env":"TEAM_MODEL"`))
	x := &plugintest.Exchange{}
	got, err := NewProvider(func() []string { return env }).Execute(t.Context(), req, x)
	if err != nil || got.Outcome != sdk.OutcomeSucceeded {
		t.Fatalf("outcome %s, error %v, %v", got.Outcome, err, got.Error)
	}
	if sent := base.Requests(t, "it")[0].Headers.Get("X-Api-Key"); sent != key {
		t.Errorf("the service got the key %q", sent)
	}
	for _, c := range x.Record().Checkpoints {
		if strings.Contains(string(c.Blob), key) {
			t.Errorf("the checkpoint of turn %d holds the key", c.Turn)
		}
	}
}

// An attempt does not begin after its context has ended. Time limits are tested by TestConformance, TestModes and
// package loop.
func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := NewProvider(environ).Execute(ctx, request(t, nil), &plugintest.Exchange{}); err == nil {
		t.Error("no error")
	}
}
