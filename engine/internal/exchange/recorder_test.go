package exchange

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

const token = "ghp_0123456789012345678901234567890123456789"

// A verdict from before a crash holds for the same call: both the journaled and the new arguments are redacted.
func TestVerdictHoldsForRedactedArguments(t *testing.T) {
	for _, args := range []string{`{"token":"hunter2","text":"` + token + `"}`, `{"big":"` + strings.Repeat("y", maxInline) + `","text":"` + token + `"}`} {
		s, _ := newStreamFile(t)
		r := &recorder{&effect.Effect{Env: &effect.Env{Dir: s.store, Redactor: redact.New(nil)}}, "attempts/01"}
		call := sdk.ToolCall{CallID: "1", Tool: "send", Args: []byte(args), Effect: sdk.EffectOnce}
		var intents [2]event.ToolCallData
		for i := range intents {
			var err error
			if intents[i], err = r.newIntent(call); err != nil {
				t.Fatal(err)
			}
		}
		intents[0].Verdict = string(sdk.VerdictRun)
		before := testkit.Must(event.Decode[event.ToolCallData](r.Event(event.ToolCall, intents[0])))
		if again := intents[1]; !decisionHolds(before, again) {
			t.Errorf("the verdict does not stand: %+v, %+v", before, again)
		}
		if strings.Contains(string(before.Args), token) {
			t.Errorf("the arguments are journaled as they are: %s", before.Args)
		}
		if before.ArgsRef == nil {
			continue
		}
		if text, err := s.store.ReadRef(*before.ArgsRef); err != nil || strings.Contains(string(text), token) {
			t.Errorf("%s has the secret: %v", filepath.Base(before.ArgsRef.Path), err)
		}
	}
}

// U153: the last call of the tool that was not refused delivers the artifact. Calls end in any order.
func TestHandover(t *testing.T) {
	for _, tt := range []struct{ name, tool, calls, want string }{
		{"one", "s", "a! a+", "a"},
		{"the last", "s", "a! a+ b! b+", "b"},
		{"the last that succeeded", "s", "a! a+ b! b-", "a"},
		{"side by side", "s", "a! b! b+ a+", "b"},
		{"the last of them fails", "s", "a! b! c! a+ c- b+", "b"},
		{"all of them fail", "s", "a! b! a- b-", ""},
		{"no end is known", "s", "a! a+ b!", "b"},
		{"asked for again after a crash", "s", "a! b! a!", "a"},
		{"as many as are remembered", "s", "a! b! c! d! e! f! g! h! h- g- f- e- d- c- b-", "a"},
		{"one more", "s", "a! b! c! d! e! f! g! h! i! i- h- g- f- e- d- c- b-", ""},
		{"none", "s", "x+ x-", ""},
		{"another tool", "other", "a! a+", ""},
		{"no tool", "", "a! a+", ""},
	} {
		h := &callTracker{artifactTool: tt.tool}
		for word := range strings.FieldsSeq(tt.calls) {
			switch id := word[:1]; word[1] {
			case '!':
				h.addArtifact(sdk.ToolCall{CallID: id, Tool: "s", Args: json.RawMessage(id)})
			case '+':
				h.finishArtifact(sdk.ToolResult{CallID: id, Status: sdk.ToolSuccess})
			default:
				h.finishArtifact(sdk.ToolResult{CallID: id, Status: sdk.ToolDenied})
			}
		}
		args, _ := h.artifactArgs()
		testkit.Equal(t, tt.want, string(args))
	}
}

func newStreamFile(t *testing.T) (s *streamFile, path string) {
	t.Helper()
	_, dir := testkit.Session(t, t.TempDir(), "demo")
	return &streamFile{store: dir, name: "stream.jsonl", redactor: redact.New(nil).ForAgent().Stream()}, filepath.Join(dir.Path(), "stream.jsonl")
}

// A chunk is in the file immediately, so that it survives a crash.
func TestStreamFileWritesImmediately(t *testing.T) {
	s, path := newStreamFile(t)
	s.add("one\n")
	s.add("two\n")
	testkit.Equal(t, "one\ntwo\n", string(testkit.Must(os.ReadFile(path))))
	testkit.Equal(t, "\ntwo\n", s.readTail(5))
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

func TestStreamFileWithoutOutput(t *testing.T) {
	s, path := newStreamFile(t)
	s.add("")
	if err := s.close(); err != nil || s.readTail(9) != "" {
		t.Errorf("close %v, end %q", err, s.readTail(9))
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("stat: %v", err)
	}
}

// The file of a long stream has its beginning, its end and the number of missing bytes.
func TestStreamFileIsBounded(t *testing.T) {
	s, path := newStreamFile(t)
	chunk := strings.Repeat("x", 1<<20-1) + "\n"
	for range maxStreamHead/len(chunk) + 3 {
		s.add(chunk)
	}
	s.add("last\n")
	if got := s.readTail(5); got != "last\n" {
		t.Errorf("end %q", got)
	}
	testkit.OK(t, s.close())
	text := testkit.Must(os.ReadFile(path))
	const notice = "\n[2097157 bytes dropped]\n"
	if len(text) != maxStreamHead+len(notice)+maxStreamTail || !strings.HasSuffix(string(text), "last\n") || !strings.Contains(string(text), notice) {
		t.Errorf("%d bytes, ending %q", len(text), text[len(text)-20:])
	}
}
