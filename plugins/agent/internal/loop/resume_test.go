package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// fullModel returns a model for an attempt with all kinds of events: parallel reads, writes, commands, refusals, an early claim
// and the command of the step.
func fullModel() *scriptedModel {
	bad := newReply("", "no_such_tool", `{}`, "run_terminal", `{"command":"go vet"}`)
	return &scriptedModel{replies: []model.Reply{
		newReply("I look.", "read_file", `{"path":"a"}`, "read_file", `{"path":"b"}`, "write_file", `{"path":"c"}`),
		newReply("", "finish", success), // too early: the step's action RUN_COMMAND needs a command
		bad,
		newReply("", "run_terminal", `{"command":"go test 1"}`, "write_file", `{"path":"d"}`, "run_terminal", `{"command":"go test 2"}`),
		newReply("only text"),
		newReply("", "finish", success),
	}}
}

func fullAttempt(t *testing.T) (Attempt, *scriptedModel, *journal, *countingTools) {
	s := fullModel()
	w, j, e := newAttempt(t, s, func(w *Attempt) {
		w.Request.StepID, w.Request.Step = "s1", json.RawMessage(`{"action":"RUN_COMMAND","verification":{"command":"go build"}}`)
		w.Request.MaxTurns = 20
	})
	return w, s, j, e
}

// TestEveryCut kills the kernel after each record and resumes with the records. The resumed attempt must give the result of
// an attempt without a crash, with every effect once.
func TestEveryCut(t *testing.T) { // U176, U177
	w, _, j, e := fullAttempt(t)
	succeed(t, w)
	effects, want := maps.Clone(e.calls), result(t, w)
	for _, n := range effects {
		if n != 1 {
			t.Fatalf("effects %v", effects)
		}
	}
	if len(effects) != 8 || len(j.events) < 25 {
		t.Fatalf("%d effects, %d records: the attempt covers too little", len(effects), len(j.events))
	}
	for cut := 1; cut < len(j.events); cut++ {
		t.Run(fmt.Sprintf("after record %d", cut), func(t *testing.T) {
			e := newCountingTools()
			dead, s, first := cutAt(t, e, cut)
			w, j := dead, &journal{recorded: dead.Exchange.(*journal).results()}
			w.Exchange = j
			w.Request.Resume = first.resume()
			got := succeed(t, w)
			for name := range e.calls { // an interrupted read may be repeated
				if strings.HasPrefix(name, "read_file") {
					e.calls[name] = min(e.calls[name], 1)
				}
			}
			if diff := cmp.Diff(effects, e.calls); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, result(t, w)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if n := len(s.requests); n > len(s.replies)+1 {
				t.Errorf("the model was asked %d times", n)
			}
			if n := *got.Usage.OutputTokens; n != 60 {
				t.Errorf("%d tokens of output are counted for 6 replies", n)
			}
		})
	}
}

// cutAt runs the attempt until the kernel dies.
func cutAt(t *testing.T, e *countingTools, cut int) (Attempt, *scriptedModel, *journal) {
	t.Helper()
	w, s, j, _ := fullAttempt(t)
	w.Tools = e
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	j.dieAt, j.die = cut, cancel
	if _, err := Run(ctx, w); err == nil {
		t.Fatalf("the attempt survived the kernel's death after record %d", cut)
	}
	return w, s, j
}

// results returns the recorded results: a kernel has them whatever the checkpoint holds.
func (j *journal) results() map[string]*sdk.ToolResult {
	all := map[string]*sdk.ToolResult{}
	for _, e := range j.events {
		if e.result != nil {
			all[e.result.CallID] = e.result
		}
	}
	return all
}

func TestSecretsStayOutOfCheckpoints(t *testing.T) { // U180
	const key = "sk-made-up-0123456789abcdef"
	redactor := redact.New([]string{"A_TOKEN=" + key}).ForAgent()
	s := &scriptedModel{replies: []model.Reply{
		newReply("the key is "+key, "run_terminal", `{"command":"login `+key+`"}`, "run_terminal", `{"command":"make"}`),
		newReply("", "finish", success),
	}}
	s.replies[0].Thinking = []model.Thinking{{Text: "I see.", Data: "sealed-" + key}, {Text: "So be it.", Signature: "sig"}}
	w, j, e := newAttempt(t, s, func(w *Attempt) { w.Redactor = redactor })
	end(t, w)
	if e.calls[`run_terminal{"command":"login `+key+`"}`] != 1 {
		t.Errorf("an attempt that is not interrupted runs the command unchanged: %v", e.calls)
	}
	for _, c := range j.checkpoints() {
		if strings.Contains(string(c.Blob), key) || strings.Contains(string(c.Blob), `"sig"`) {
			t.Errorf("checkpoint of turn %d: %s", c.Turn, c.Blob)
		}
	}
	// A call whose arguments the checkpoint lacks is not made.
	again := newCountingTools()
	w.Tools, w.Request.Resume = again, &sdk.Resume{Checkpoint: j.checkpoints()[0]}
	end(t, w)
	if diff := cmp.Diff(map[string]int{`run_terminal{"command":"make"}`: 1}, again.calls); diff != "" {
		t.Errorf("effects (-want +got):\n%s", diff)
	}
	if text := lastMessage(s, len(s.requests)); !strings.Contains(text, "held a secret") {
		t.Errorf("the model gets %q", text)
	}
}

// TestClaimWithSecretAfterCrash: a claim whose text no checkpoint keeps is void after a crash: its artifact would differ.
func TestClaimWithSecretAfterCrash(t *testing.T) { // U180, U177
	const key = "sk-made-up-0123456789abcdef"
	claim := `{"outcome":"success","summary":"done","artifact":{"key":"` + key + `"}}`
	s := &scriptedModel{replies: []model.Reply{newReply("", "finish", claim), newReply("", "finish", `{"outcome":"success","summary":"done","artifact":{"key":"in the vault"}}`)}}
	w, j, _ := newAttempt(t, s, func(w *Attempt) {
		w.Redactor = redact.New([]string{"A_TOKEN=" + key}).ForAgent()
		w.Request.ArtifactSchema = json.RawMessage(`{"type":"object","required":["key"]}`)
	})
	end(t, w)
	if r := fmt.Sprint(result(t, w)); !strings.Contains(r, key) {
		t.Errorf("without a crash the artifact is the one of the model: %s", r)
	}
	w.Request.Resume = &sdk.Resume{Checkpoint: j.checkpoints()[0]}
	end(t, w)
	if text := lastMessage(s, 2); !strings.Contains(text, "held a secret") {
		t.Errorf("the model gets %q", text)
	}
	if r := fmt.Sprint(result(t, w)); !strings.Contains(r, "in the vault") || strings.Contains(r, redact.Mark) {
		t.Errorf("result %s", r)
	}
}

// TestHandOverWithSecretAfterCrash: an artifact with a secret is void after a crash: the checkpoint lacks the secret.
func TestHandOverWithSecretAfterCrash(t *testing.T) { // U180, U177
	const key = "sk-made-up-0123456789abcdef"
	s := &scriptedModel{replies: []model.Reply{newReply("", "submit", `{"key":"`+key+`"}`), newReply("", "submit", `{"key":"in the vault"}`, "finish", success)}}
	w, j, _ := newAttempt(t, s, func(w *Attempt) {
		w.Redactor = redact.New([]string{"A_TOKEN=" + key}).ForAgent()
		w.Request.ArtifactTool, w.Request.ArtifactSchema = "submit", json.RawMessage(`{"type":"object","required":["key"]}`)
		w.Request.Paths.Artifact = filepath.Join(filepath.Dir(w.Request.Paths.Result), "artifact.yaml")
	})
	end(t, w)
	w.Request.Resume = &sdk.Resume{Checkpoint: j.checkpoints()[0]}
	end(t, w)
	if text := lastMessage(s, 3); !strings.Contains(text, "held a secret") {
		t.Errorf("the model gets %q", text)
	}
}

func TestForeignCheckpoint(t *testing.T) {
	for _, blob := range []string{"no JSON", `{"version":2}`, `{"version":1,"turn":1,"turns":[{"n":1,"reply":{"role":"assistant","calls":[{"id":"a","name":"x"}]}}]}`} {
		s := &scriptedModel{replies: []model.Reply{newReply("", "finish", success)}}
		w, _, _ := newAttempt(t, s, func(w *Attempt) {
			w.Request.Resume = &sdk.Resume{Checkpoint: sdk.Checkpoint{Turn: 1, Blob: []byte(blob)}}
		})
		if _, err := Run(t.Context(), w); failure.KindOf(err) != failure.ProviderFailed || len(s.requests) != 0 {
			t.Errorf("%s: got %v", blob, err)
		}
	}
}

func FuzzResume(f *testing.F) {
	good, err := json.Marshal(conversation{Version: 1, Turn: 1, Window: 10, Turns: []turn{{N: 1, Reply: newReply("", "read_file", `{}`).Message(), Results: []callRecord{{}}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"version":1,"turns":[{"n":1,"made":[]}],"window":-4,"left":3}`))
	f.Fuzz(func(t *testing.T, blob []byte) {
		run := t.TempDir()
		w := Attempt{
			Request:  sdk.ExecuteRequest{WorkDir: run, Resume: &sdk.Resume{Checkpoint: sdk.Checkpoint{Turn: 1, Blob: blob}}},
			Exchange: &journal{}, Client: &scriptedModel{replies: []model.Reply{newReply("", "finish", success)}}, Tools: newCountingTools(), MaxTurns: 3,
		}
		_, _ = Run(t.Context(), w) // the run must end
	})
}
