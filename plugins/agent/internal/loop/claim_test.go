package loop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/tool"
)

func TestEarlyClaims(t *testing.T) { // U181, U166
	exits := func(code string, status sdk.ToolStatus) func(string, json.RawMessage) *tool.Result {
		return func(name string, _ json.RawMessage) *tool.Result {
			if name != terminalTool {
				return nil
			}
			return &tool.Result{Status: status, Data: json.RawMessage(`{"exit_code":` + code + `,"stdout":"out","stderr":""}`)}
		}
	}
	const schema = `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`
	tests := []struct {
		name   string
		step   string
		schema string
		result func(string, json.RawMessage) *tool.Result
		claims []string // arguments of finish, each sent back
		reason string   // a part of the answer to each
		then   []string // the calls after which the claim holds; nil: none are needed
		last   string   // the claim that holds, "" for success
		files  map[string]string
	}{
		{name: "WRITE_FILE", step: `{"action":"WRITE_FILE"}`, claims: []string{success}, reason: "no call of write_file or modify_file has succeeded", then: []string{"modify_file", `{}`}},
		{name: "GENERATE_CODE", step: `{"action":"GENERATE_CODE"}`, claims: []string{success}, reason: "write_file or modify_file", then: []string{"write_file", `{}`}},
		{name: "MODIFY_FILE", step: `{"action":"modify_file"}`, claims: []string{success, success}, reason: "modify_file or write_file", then: []string{"write_file", `{}`}},
		{name: "READ_FILE", step: `{"action":"READ_FILE"}`, claims: []string{success}, reason: "no call of read_file", then: []string{"read_file", `{}`}},
		{name: "CREATE_DIRECTORY", step: `{"action":"CREATE_DIRECTORY"}`, claims: []string{success}, reason: "create_directory", then: []string{"create_directory", `{}`}},
		{name: "DELETE_FILE", step: `{"action":"DELETE_FILE"}`, claims: []string{success}, reason: "delete_file", then: []string{"delete_file", `{}`}},
		{name: "ANALYZE_CODE", step: `{"action":"ANALYZE_CODE"}`, claims: []string{success}, reason: "search_code", then: []string{"search_code", `{}`}},
		{name: "RUN_COMMAND", step: `{"action":"RUN_COMMAND"}`, claims: []string{success}, reason: "run_terminal", then: []string{"run_terminal", `{}`}},
		{name: "an unknown action", step: `{"action":"DANCE"}`},
		{name: "a text as the item", step: `"write it"`},
		{name: "no artifact", schema: schema, claims: []string{success}, reason: "give it to finish", last: `{"outcome":"success","summary":"s","artifact":{"n":1}}`},
		{
			name: "an artifact that does not fit", schema: schema,
			claims: []string{`{"outcome":"success","summary":"s","artifact":{"n":"one"}}`, `{"outcome":"success","summary":"s","artifact":{}}`},
			reason: "does not fit its schema", last: `{"outcome":"success","summary":"s","artifact":{"n":1}}`,
		},
		{name: "a file that is missing", step: `{"verification":{"files":["b.txt"]}}`, claims: []string{success}, reason: "b.txt, which does not exist", last: `{"outcome":"fail","summary":"s"}`},
		{name: "a file that is there", step: `{"verification":{"files":["a.txt"]}}`, files: map[string]string{"a.txt": ""}},
		{name: "a file outside", step: `{"verification":{"files":["../a.txt"]}}`, claims: []string{success}, reason: "cannot be read", last: `{"outcome":"fail","summary":"s"}`},
		{name: "a command that fails", step: `{"verification":{"command":"go test"}}`, result: exits("1", sdk.ToolSuccess), claims: []string{success}, reason: "did not end with exit code 0", last: `{"outcome":"fail","summary":"s"}`},
		{name: "a command that cannot run", step: `{"verification":{"command":"go test"}}`, result: exits("0", sdk.ToolTimeout), claims: []string{success}, reason: "did not end with exit code 0", last: `{"outcome":"fail","summary":"s"}`},
		{name: "a command that goes well", step: `{"verification":{"command":"go test"}}`, result: exits("0", sdk.ToolSuccess)},
		{name: "a text as the verification", step: `{"verification":"tests pass"}`},
		{name: "bad arguments", claims: []string{`{"outcome":"done","summary":"s"}`, `{"summary":"s"}`, `{"outcome":"success"}`, `{"outcome":"success","summary":""}`}, reason: "arguments of finish are wrong"},
		{name: "an escalation without a question", claims: []string{`{"outcome":"escalate","summary":"s"}`}, reason: "needs a question"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &scriptedModel{}
			for _, c := range tt.claims {
				s.replies = append(s.replies, newReply("", "finish", c))
			}
			if tt.then != nil {
				s.replies = append(s.replies, newReply("", tt.then...))
			}
			last := tt.last
			if last == "" {
				last = success
			}
			s.replies = append(s.replies, newReply("", "finish", last))
			w, _, e := newAttempt(t, s, func(w *Attempt) {
				w.Request.Step, w.Request.ArtifactSchema = json.RawMessage(tt.step), json.RawMessage(tt.schema)
				if tt.step != "" {
					w.Request.StepID = "s1"
				}
			})
			e.result = tt.result
			for name, text := range tt.files {
				if err := os.WriteFile(filepath.Join(w.Request.WorkDir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			succeed(t, w)
			if want := len(s.replies); len(s.requests) != want {
				t.Errorf("%d turns, want %d", len(s.requests), want)
			}
			for i := range tt.claims {
				if text := lastMessage(s, i+2); !strings.Contains(text, tt.reason) || !strings.Contains(text, "not finished") {
					t.Errorf("answer to claim %d is %q, want %q", i+1, text, tt.reason)
				}
			}
		})
	}
}

func TestClaimBesideAFailedCall(t *testing.T) { // U181
	s := &scriptedModel{replies: []model.Reply{newReply("", "run_terminal", `{"command":"x"}`, "finish", success, "finish", success), newReply("", "finish", success)}}
	w, _, e := newAttempt(t, s, nil)
	e.result = func(string, json.RawMessage) *tool.Result {
		return &tool.Result{Status: sdk.ToolError, Data: json.RawMessage(`{"exit_code":1}`)}
	}
	if got, err := Run(t.Context(), w); err != nil || got.Outcome != sdk.OutcomeSucceeded || len(s.requests) != 2 {
		t.Fatalf("%+v, error %v", got, err)
	}
	if text := lastMessage(s, 2); !strings.Contains(text, "in the same reply did not succeed") {
		t.Errorf("answer %q", text)
	}
}

// TestVerificationIsGated: the command of a step is a normal call, which the policy may deny or skip.
func TestVerificationIsGated(t *testing.T) { // U181, U175
	for _, action := range []sdk.VerdictAction{sdk.VerdictDeny, sdk.VerdictSkip} {
		s := &scriptedModel{replies: []model.Reply{newReply("", "finish", success), newReply("", "finish", `{"outcome":"fail","summary":"s"}`)}}
		w, j, e := newAttempt(t, s, func(w *Attempt) {
			w.Request.StepID, w.Request.Step = "s1", json.RawMessage(`{"verification":{"command":"go test"}}`)
		})
		j.verdict = func(sdk.ToolCall) sdk.Verdict { return sdk.Verdict{Action: action, Reason: "no commands"} }
		fail(t, w, failure.ApprovalDenied)
		if calls := j.calls(); len(calls) != 1 || calls[0].CallID != "t1.verification" || calls[0].Command != "go test" || len(e.calls) != 0 {
			t.Errorf("calls %+v, effects %v", calls, e.calls)
		}
		if text := lastMessage(s, 2); !strings.Contains(text, "not allowed: no commands") {
			t.Errorf("answer %q", text)
		}
	}
}

// TestVerificationIsRefused: a refused command of a step is recorded, and is the reason of the attempt's failure.
func TestVerificationIsRefused(t *testing.T) { // U181, U174
	s := &scriptedModel{replies: []model.Reply{newReply("", "finish", success), newReply("", "finish", `{"outcome":"fail","summary":"s"}`)}}
	w, j, e := newAttempt(t, s, func(w *Attempt) { w.Request.Step = json.RawMessage(`{"verification":{"command":"rm -rf /"}}`) })
	e.refuse = map[string]*tool.Refusal{terminalTool: {Status: sdk.ToolDenied, Code: tool.CodeSandbox, Message: "rm is not on the list"}}
	fail(t, w, failure.SandboxViolation)
	if text := lastMessage(s, 2); !strings.Contains(text, "rm is not on the list") {
		t.Errorf("answer %q", text)
	}
	observed := slices.ContainsFunc(j.events, func(e entry) bool {
		return e.observed != nil && e.observed.CallID == "t1.verification" && strings.Contains(string(e.observed.Args), "rm -rf /")
	})
	ended := slices.ContainsFunc(j.events, func(e entry) bool {
		return e.observedResult != nil && e.observedResult.CallID == "t1.verification" && e.observedResult.Status == sdk.ToolDenied
	})
	if !observed || !ended || len(j.calls()) != 0 {
		t.Errorf("observed %v, ended %v, calls %v", observed, ended, j.calls())
	}
}

func TestResult(t *testing.T) {
	const ownResult = `{"summary":"old","decision":"stop","signals":{"risk":"high"},"work":{"items_completed":["i1"]}}`
	base := func(more map[string]any) map[string]any {
		m := map[string]any{"summary": "s", "work": map[string]any{"items_completed": []any{}, "files_touched": []any{"a", "b"}}}
		for k, v := range more {
			m[k] = v
		}
		return m
	}
	tests := []struct {
		name, claim       string
		ownResult, status string
		step, schema      string
		want              map[string]any
	}{
		{name: "success", claim: `{"outcome":"success","summary":"s","files":["b","a"]}`, want: base(nil)},
		{name: "fail", claim: `{"outcome":"fail","summary":"s","feedback":"f","files":["b"]}`, want: base(map[string]any{"outcome": "fail", "message": "s", "feedback": "f", "decision": "error"})},
		{name: "fail of a step", step: "s1", claim: `{"outcome":"fail","summary":"s","files":["b"]}`, want: base(map[string]any{"outcome": "fail", "message": "s"})},
		{
			name: "escalate", claim: `{"outcome":"escalate","summary":"s","question":"which?","files":["b"]}`,
			want: base(map[string]any{"outcome": "escalate", "message": "s", "escalation": map[string]any{"type": "question", "message": "s", "questions": []any{"which?"}}}),
		},
		{name: "artifact", schema: `{}`, claim: `{"outcome":"success","summary":"s","artifact":{"n":12345678901234567890},"files":["b"]}`, want: base(map[string]any{"artifact": map[string]any{"n": 12345678901234567890.0}})},
		{
			name: "beside what the agent wrote", ownResult: ownResult, claim: `{"outcome":"success","summary":"s"}`,
			want: map[string]any{"summary": "s", "decision": "stop", "signals": map[string]any{"risk": "high"}, "work": map[string]any{"items_completed": []any{"i1"}, "files_touched": []any{"a"}}},
		},
		{name: "with the decision of status.json", status: `{"decision":"stop","reason":"all done"}`, claim: `{"outcome":"success","summary":"s","files":["b"]}`, want: base(map[string]any{"decision": "stop", "reason": "all done"})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &scriptedModel{replies: []model.Reply{newReply("", "write_file", `{"path":"a"}`), newReply("", "finish", tt.claim)}}
			w, j, _ := newAttempt(t, s, func(w *Attempt) {
				w.Request.StepID, w.Request.Contract, w.Request.ArtifactSchema = tt.step, tt.step != "", json.RawMessage(tt.schema)
				for path, text := range map[string]string{w.Request.Paths.Result: tt.ownResult, w.Request.Paths.Status: tt.status} {
					if text != "" {
						if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
							t.Fatal(err)
						}
					}
				}
			})
			succeed(t, w)
			if diff := cmp.Diff(tt.want, result(t, w)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tt.name == "artifact" && !strings.Contains(j.output, "12345678901234567890") {
				t.Errorf("the output has no artifact: %q", j.output)
			}
		})
	}
}

func TestArtifactFile(t *testing.T) {
	file := func(w *Attempt) {
		w.Request.Paths.Artifact = filepath.Join(filepath.Dir(w.Request.Paths.Result), "artifact.yaml")
	}
	schema := json.RawMessage(`{"type":"object","required":["n"]}`)
	t.Run("is written from the claim", func(t *testing.T) {
		w, _, _ := newAttempt(t, &scriptedModel{replies: []model.Reply{newReply("", "finish", `{"outcome":"success","summary":"s","artifact":{"n":1}}`)}}, file)
		succeed(t, w)
		if text, err := os.ReadFile(w.Request.Paths.Artifact); err != nil || string(text) != "{\"n\":1}\n" {
			t.Errorf("got %q, error %v", text, err)
		}
	})
	for text, holds := range map[string]bool{`{"n":1}`: true, `{"m":1}`: false, "n: 1\n": true, "": false} {
		t.Run("written by the agent: "+text, func(t *testing.T) {
			s := &scriptedModel{replies: []model.Reply{newReply("", "finish", success), newReply("", "finish", `{"outcome":"fail","summary":"s"}`)}}
			w, _, _ := newAttempt(t, s, func(w *Attempt) {
				file(w)
				w.Request.ArtifactSchema = schema
				if err := os.WriteFile(w.Request.Paths.Artifact, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			})
			end(t, w)
			if got := len(s.requests) == 1; got != holds {
				t.Errorf("the claim holds: %t, want %t", got, holds)
			}
		})
	}
	t.Run("is not asked of one step", func(t *testing.T) {
		s := &scriptedModel{replies: []model.Reply{newReply("", "finish", success)}}
		w, _, _ := newAttempt(t, s, func(w *Attempt) { file(w); w.Request.StepID = "s1" })
		if got, err := Run(t.Context(), w); err != nil || got.Outcome != sdk.OutcomeSucceeded || len(s.requests) != 1 {
			t.Errorf("%+v, error %v", got, err)
		}
	})
}

// TestFinishDefinition: finish takes an artifact only if one is needed, with its schema, or with the schema in the
// description if the schema's references would break.
func TestFinishDefinition(t *testing.T) { // U166
	parameters := func(schema string) string {
		s := &scriptedModel{replies: []model.Reply{newReply("", "finish", `{"outcome":"fail","summary":"s"}`)}}
		w, _, _ := newAttempt(t, s, func(w *Attempt) { w.Request.ArtifactSchema = json.RawMessage(schema) })
		end(t, w)
		tools := s.requests[0].Tools
		return string(tools[slices.IndexFunc(tools, func(t model.Tool) bool { return t.Name == "finish" })].Parameters)
	}
	if got := parameters(""); strings.Contains(got, "artifact") {
		t.Errorf("an artifact is requested: %s", got)
	}
	if got := parameters(`{"type":"object","required":["n"]}`); !strings.Contains(got, `"artifact":{"required":["n"],"type":"object"}`) {
		t.Errorf("the schema is missing: %s", got)
	}
	if got := parameters(`{"$defs":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`); !strings.Contains(got, `has to fit this JSON Schema: {\"$defs\"`) {
		t.Errorf("the schema is not in the description: %s", got)
	}
	w, _, _ := newAttempt(t, &scriptedModel{}, func(w *Attempt) { w.Request.ArtifactSchema = json.RawMessage(`{"$ref":"https://example.com/x"}`) })
	if _, err := Run(t.Context(), w); failure.KindOf(err) != failure.ConfigInvalid {
		t.Errorf("a schema from the network: %v", err)
	}
}
