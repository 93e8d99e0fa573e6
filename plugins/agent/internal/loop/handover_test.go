package loop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// TestHandOver: U153: a tool with the artifact's schema as its parameters takes the artifact. Faulty artifacts are sent
// back, the last artifact counts, and finish takes no artifact.
func TestHandOver(t *testing.T) {
	const schema = `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`
	work := func(w *Attempt) {
		w.Request.ArtifactTool, w.Request.ArtifactSchema = "submit_analysis", json.RawMessage(schema)
		w.Request.Paths.Artifact = filepath.Join(filepath.Dir(w.Request.Paths.Result), "artifact.yaml")
	}
	s := &scriptedModel{replies: []model.Reply{
		newReply("", "finish", success), // with nothing handed over
		newReply("", "submit_analysis", `{"n":"three"}`),
		newReply("", "submit_analysis", `{"n":3}`, "read_file", `{"path":"a"}`),
		newReply("", "submit_analysis", `{"n":4}`, "finish", success),
	}}
	w, j, _ := newAttempt(t, s, work)
	if got, err := Run(t.Context(), w); err != nil || got.Outcome != sdk.OutcomeSucceeded || len(s.requests) != 4 {
		t.Fatalf("%+v, error %v, %d requests", got, err, len(s.requests))
	}
	if text, err := os.ReadFile(w.Request.Paths.Artifact); err != nil || string(text) != "{\"n\":4}\n" {
		t.Errorf("artifact %q, error %v", text, err)
	}
	tools := s.requests[0].Tools
	at := slices.IndexFunc(tools, func(t model.Tool) bool { return t.Name == "submit_analysis" })
	if at < 0 || string(tools[at].Parameters) != schema || strings.Contains(string(tools[len(tools)-1].Parameters), `"artifact"`) {
		t.Errorf("the tools are %+v", tools)
	}
	lastResult := func(n int) string {
		last := s.requests[n].Messages[len(s.requests[n].Messages)-1]
		return last.Results[0].Text
	}
	if !strings.Contains(lastResult(1), "hand it over with submit_analysis") || !strings.Contains(lastResult(2), "got string, want integer") || !strings.Contains(lastResult(3), "taken") {
		t.Errorf("the model got %q, %q, %q", lastResult(1), lastResult(2), lastResult(3))
	}
	var ended []string
	for i, e := range j.events {
		if e.observed != nil && e.observed.Tool == "submit_analysis" {
			ended = append(ended, string(e.observed.Args)+" "+string(j.events[i+1].observedResult.Status))
		}
	}
	if want := []string{`{"n":"three"} error`, `{"n":3} success`, `{"n":4} success`}; !slices.Equal(ended, want) {
		t.Errorf("the kernel got %q", ended)
	}
}

// TestNoHandOver: there is no hand-over tool for the name of an existing tool, or in a step.
func TestNoHandOver(t *testing.T) {
	for name, change := range map[string]func(*Attempt){
		"a tool of ours": func(w *Attempt) { w.Request.ArtifactTool = "write_file" },
		"finish":         func(w *Attempt) { w.Request.ArtifactTool = "finish" },
		"a step":         func(w *Attempt) { w.Request.ArtifactTool, w.Request.StepID = "submit", "s1" },
	} {
		s := &scriptedModel{replies: []model.Reply{newReply("", "finish", `{"outcome":"fail","summary":"s"}`)}}
		w, _, tools := newAttempt(t, s, change)
		if _, err := Run(t.Context(), w); err != nil || len(s.requests[0].Tools) != len(tools.Definitions())+1 {
			t.Errorf("%s: %d tools, error %v", name, len(s.requests[0].Tools), err)
		}
	}
}

// TestHandOverSchemas: a schema without type object goes into the description, because services require that type.
func TestHandOverSchemas(t *testing.T) {
	f := &finish{handover: "submit"}
	for schema, words := range map[string]bool{``: false, `true`: true, `{"required":["a"]}`: true, `{"type":"object"}`: false} {
		d := f.handoverDefinition(json.RawMessage(schema))
		if string(d.Parameters) != `{"type":"object"}` || strings.Contains(d.Description, "JSON Schema") != words {
			t.Errorf("%q: %+v", schema, d)
		}
	}
}
