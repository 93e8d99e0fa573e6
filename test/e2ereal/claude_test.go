//go:build e2ereal

package e2ereal

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/test/stubmodel"
)

// event is the part of a stream's line that the tests inspect.
type event struct {
	Type           string  `json:"type"`
	Subtype        string  `json:"subtype"`
	Error          string  `json:"error"`
	ErrorStatus    int     `json:"error_status"`
	IsError        bool    `json:"is_error"`
	APIErrorStatus int     `json:"api_error_status"`
	TerminalReason string  `json:"terminal_reason"`
	Result         string  `json:"result"`
	TotalCostUSD   float64 `json:"total_cost_usd"`
	Usage          struct {
		Input      int `json:"input_tokens"`
		Output     int `json:"output_tokens"`
		CacheRead  int `json:"cache_read_input_tokens"`
		CacheWrite int `json:"cache_creation_input_tokens"`
	} `json:"usage"`
}

// ending is the end of a run of the CLI, as its stream reports it.
type ending struct {
	Code           int
	Subtype        string // of the result event; "" when there was none
	IsError        bool
	APIErrorStatus int
	TerminalReason string
	Retries        []string // the error of each api_retry event
	Errors         []string // the error of each assistant event that reports one
}

// claudeCase is one possible run of the CLI.
type claudeCase struct {
	name   string
	script stubmodel.Script
	args   []string // in addition to the usual ones
	want   ending
	check  func(t *testing.T, w world, events []event, asked []stubmodel.Request)
}

func script(turns ...stubmodel.Turn) stubmodel.Script {
	return stubmodel.Script{Vars: map[string]string{"project": ""}, Turns: turns, After: stubmodel.AfterError}
}

// toolTurns is a conversation that writes a file and runs a command, with usage of every kind.
var toolTurns = []stubmodel.Turn{
	{
		Thinking: "A file is wanted.", Text: "I will write it.",
		ToolCalls: []stubmodel.ToolCall{write("{{project}}/a.txt", "x & <y>\n")},
		Usage:     stubmodel.Usage{Input: 1000, Output: 50, CacheRead: 200, CacheWrite: 30, Reasoning: 7},
	},
	{
		Expect:    &stubmodel.Expect{ToolResult: "created successfully"},
		Text:      "Now a command.",
		ToolCalls: []stubmodel.ToolCall{shell("cat a.txt > b.txt && cat b.txt")},
		Usage:     stubmodel.Usage{Input: 1100, Output: 40},
	},
	{Expect: &stubmodel.Expect{ToolResult: "^x & <y>$"}, Text: "All done.", Usage: stubmodel.Usage{Input: 1200, Output: 20}},
}

var success = ending{Subtype: "success", TerminalReason: "completed"}

func apiError(status int, word string, retries ...string) ending {
	return ending{
		Code: 1, Subtype: "success", IsError: true, APIErrorStatus: status, TerminalReason: "api_error",
		Retries: retries, Errors: []string{word},
	}
}

var claudeCases = []claudeCase{
	{
		name: "tools", script: script(toolTurns...), want: success,
		check: func(t *testing.T, w world, events []event, asked []stubmodel.Request) {
			w.assertFile(t, "a.txt", "x & <y>\n")
			w.assertFile(t, "b.txt", "x & <y>\n")
			last := events[len(events)-1]
			want := [4]int{3300, 110, 200, 30}
			got := [4]int{last.Usage.Input, last.Usage.Output, last.Usage.CacheRead, last.Usage.CacheWrite}
			if got != want || last.TotalCostUSD <= 0 || last.Result != "All done." {
				t.Errorf("the result event has usage %v, cost %v, text %q; want %v, a cost, the last text", got, last.TotalCostUSD, last.Result, want)
			}
			for _, r := range asked {
				if !strings.HasPrefix(r.Model, "claude-sonnet-") || r.Headers.Get("X-Api-Key") != apiKey {
					t.Errorf("request %d: model %q, key %q", r.N, r.Model, r.Headers.Get("X-Api-Key"))
				}
			}
		},
	},
	{
		name: "two-tools-at-once", want: success,
		script: script(stubmodel.Turn{ToolCalls: []stubmodel.ToolCall{
			write("{{project}}/a.txt", "a"), write("{{project}}/b.txt", "b"),
		}}, done),
		check: func(t *testing.T, w world, _ []event, _ []stubmodel.Request) {
			w.assertFile(t, "a.txt", "a")
			w.assertFile(t, "b.txt", "b")
		},
	},
	{
		name: "tool-fails", want: success,
		script: script(stubmodel.Turn{ToolCalls: []stubmodel.ToolCall{shell("echo no such luck >&2; exit 3")}},
			stubmodel.Turn{Expect: &stubmodel.Expect{ToolResult: "no such luck", ToolError: new(true)}, Text: "It failed."}),
	},
	{name: "server-error", script: script(stubmodel.Turn{Status: 500, Times: 2}), want: apiError(500, "server_error", "server_error")},
	{name: "model-not-found", script: script(stubmodel.Turn{Status: 404, Times: 9}), want: apiError(404, "model_not_found")},
	{
		name: "mid-stream-error", want: success,
		script: script(stubmodel.Turn{Text: longText, MidStream: true, CutAfter: 4, ErrorType: "overloaded_error"}, done),
		check:  assertStreamed(true, false), // the CLI repeats the request without a stream
	},
	{
		name: "max-turns", args: []string{"--max-turns", "1"}, script: script(toolTurns...),
		want: ending{Code: 1, Subtype: "error_max_turns", IsError: true, TerminalReason: "max_turns"},
	},
	{
		name: "budget", args: []string{"--max-budget-usd", "0.0001"}, script: script(toolTurns...),
		want: ending{Code: 1, Subtype: "error_max_budget_usd", IsError: true, TerminalReason: "budget_exhausted"},
	},
}

// assertStreamed returns a check of which requests asked for a stream, in order.
func assertStreamed(want ...bool) func(*testing.T, world, []event, []stubmodel.Request) {
	return func(t *testing.T, _ world, _ []event, asked []stubmodel.Request) {
		t.Helper()
		var got []bool
		for _, r := range asked {
			got = append(got, bytes.Contains(r.Body, []byte(`"stream":true`)))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("streamed requests (-want +got):\n%s", diff)
		}
	}
}

// TestRealClaude checks the behaviour of the pinned CLI that plugins/claude relies on and that no scenario covers.
func TestRealClaude(t *testing.T) {
	for _, c := range claudeCases {
		t.Run(c.name, func(t *testing.T) {
			w, stub := newWorld(t), stubmodel.Start(t)
			if c.script.Vars != nil {
				c.script.Vars = map[string]string{"project": w.project}
			}
			check(t, stub.SetScript(c.name, c.script))
			got := w.runClaude(t, stub, c)
			events := parse(t, got.stdout)
			if diff := cmp.Diff(c.want, newEnding(got.code, events)); diff != "" {
				t.Errorf("(-want +got):\n%s\nstdout:\n%s\nstderr:\n%s", diff, got.stdout, got.stderr)
			}
			if faults := stub.Faults(""); faults != nil {
				t.Errorf("unexpected requests:\n%s", strings.Join(faults, "\n"))
			}
			if c.check != nil {
				c.check(t, w, events, stub.Requests(c.name))
			}
			w.assertNoProcess(t)
		})
	}
}

func (w world) runClaude(t *testing.T, stub *stubmodel.Server, c claudeCase) outcome {
	t.Helper()
	args := []string{"--print", "--dangerously-skip-permissions", "--model", "sonnet", "--output-format", "stream-json", "--verbose"}
	return w.run(t, command{
		path: cli(t, Claude), args: append(args, c.args...), stdin: "Do it.\n",
		env: w.environment(filepath.Dir(cli(t, Claude)), claudeEnvironment(stub.Base(c.name), "CLAUDE_CODE_MAX_RETRIES=1")...), limit: time.Minute,
	})
}

func parse(t *testing.T, stdout string) []event {
	t.Helper()
	var events []event
	for line := range strings.Lines(stdout) {
		var e event
		// error and result have other types in events that do not matter here
		if err := json.Unmarshal([]byte(line), &e); err != nil && e.Type == "" {
			t.Fatalf("%v in %s", err, line)
		}
		events = append(events, e)
	}
	if len(events) == 0 {
		t.Fatal("the stream is empty")
	}
	return events
}

func newEnding(code int, events []event) ending {
	end := ending{Code: code}
	for _, e := range events {
		switch {
		case e.Type == "system" && e.Subtype == "api_retry":
			end.Retries = append(end.Retries, e.Error)
		case e.Type == "assistant" && e.Error != "":
			end.Errors = append(end.Errors, e.Error)
		case e.Type == "result":
			end.Subtype, end.IsError = e.Subtype, e.IsError
			end.APIErrorStatus, end.TerminalReason = e.APIErrorStatus, e.TerminalReason
		}
	}
	return end
}
