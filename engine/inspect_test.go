package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Inspect returns the results of four queries and reports every event; for a session that never began, only the status.
func TestInspect(t *testing.T) {
	dir := project(t, `name: two
defaults: {provider: agent}
nodes:
  - {id: draft, prompt: draft, artifact: {type: text}}
  - {id: review, prompt: review, runs: 2}
`)
	e := newEngine(t, dir, agent{work: func(_ context.Context, req sdk.ExecuteRequest) error {
		if req.Node != "draft" {
			return nil
		}
		return os.WriteFile(req.Paths.Artifact, []byte("words: 2\n"), 0o644)
	}})
	wantError(t, testkit.Error(e.Inspect("demo", nil)), engine.ErrNoSession)
	testkit.OK(t, completed(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})))
	var nodes []string
	events := int64(0)
	got := testkit.Must(e.Inspect("demo", func(t *timeline.Timeline) func(timeline.Entry) {
		for n := range t.Plan().All() {
			nodes = append(nodes, n.ID)
		}
		return func(timeline.Entry) { events++ }
	}))
	status, statusErr := e.Status("demo")
	history, historyErr := e.History("demo")
	metrics, metricsErr := e.Metrics("demo")
	artifacts, artifactsErr := e.Artifacts("demo")
	testkit.OK(t, errors.Join(statusErr, historyErr, metricsErr, artifactsErr))
	want := &engine.Inspection{Status: status, History: history, Metrics: metrics, Artifacts: artifacts, Plan: got.Plan}
	testkit.Equal(t, want, got, cmpopts.IgnoreUnexported(engine.ArtifactInfo{}, engine.Visit{}))
	if diff := cmp.Diff([]string{"draft", "review"}, nodes); diff != "" || events != status.Events || len(artifacts) != 2 {
		t.Errorf("%d events, %d artifacts; %s", events, len(artifacts), diff)
	}
	if read, err := e.ReadArtifact("demo", got.Artifacts[1]); err != nil || !strings.Contains(string(read.Text), "words: 2") {
		t.Errorf("the artifact cannot be read: %+v, %v", read, err)
	}
	testkit.OK(t, os.MkdirAll(filepath.Join(filepath.Dir(status.Dir), "empty"), 0o700))
	if got, err := e.Inspect("empty", nil); err != nil || got.Status.Status != "" || got.History != nil || got.Metrics != nil || got.Artifacts != nil {
		t.Errorf("of one that never began: %+v, %v", got, err)
	}
}

// The plan of a Bash engine's loop is known only after the journal was read: then all events are reported again.
func TestInspectBashSession(t *testing.T) {
	dir := project(t, "name: two\nnodes: [{id: a, prompt: a}]\n")
	e := newEngine(t, dir, agent{})
	session := filepath.Join(dir, ".claude", "pipeline-runs", "old")
	testkit.OK(t, os.MkdirAll(session, 0o700))
	for name, text := range map[string]string{
		"state.json":   `{"session":"old","type":"loop","pipeline":"work","started_at":"2026-01-01T00:00:00Z","status":"running","iteration":1,"iteration_completed":1,"history":[]}`,
		"events.jsonl": `{"ts":"2026-01-01T00:00:00Z","type":"session_start","session":"old","cursor":null,"data":{"mode":"loop"}}` + "\n",
	} {
		testkit.OK(t, os.WriteFile(filepath.Join(session, name), []byte(text), 0o600))
	}
	var nodes []int
	got := testkit.Must(e.Inspect("old", func(t *timeline.Timeline) func(timeline.Entry) {
		nodes = append(nodes, len(t.Plan().Nodes))
		return func(timeline.Entry) {}
	}))
	if diff := cmp.Diff([]int{0, 1}, nodes); diff != "" || got.Status.Status == "" {
		t.Errorf("%+v; %s", got.Plan, diff)
	}
}

const draftAndReview = `name: two
defaults: {provider: agent}
nodes:
  - id: draft
    prompt: draft
    artifact: {type: text, version: "2.1", schema: {type: object, required: [words], properties: {words: {type: integer}}}}
  - id: review
    prompt: review
    artifact: {type: review, verdict: {field: word, map: {good: success, bad: fail}}}
    transitions: {success: done, fail: {to: draft, limit: 2}}
`

// U054, C3: all versions of artifacts are listed in plan order and validated; a changed file is reported and not read.
func TestArtifacts(t *testing.T) {
	visits := map[string]int{}
	a := agent{work: func(_ context.Context, req sdk.ExecuteRequest) error {
		visits[req.Node]++
		text := fmt.Sprintf("words: %d\n", visits[req.Node])
		if req.Node == "review" {
			text = fmt.Sprintf("word: %s\n", []string{"bad", "good"}[visits[req.Node]-1])
		}
		return os.WriteFile(req.Paths.Artifact, []byte(text), 0o644)
	}}
	e := newEngine(t, project(t, draftAndReview), a)
	wantError(t, testkit.Error(e.Artifacts("demo")), engine.ErrNoSession)
	testkit.OK(t, completed(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})))
	list := testkit.Must(e.Artifacts("demo"))
	testkit.Equal(t, []string{"$input  request 1.0 v0 true true", "draft 0 text 2.1 v1 false true", "draft 0 text 2.1 v2 true true", "review 1 review 1.0 v1 false true", "review 1 review 1.0 v2 true true"}, summary(list))
	read, err := e.ReadArtifact("demo", list[2])
	if err != nil || cmp.Diff(map[string]any{"words": 2}, read.Data) != "" || !strings.Contains(string(read.Text), "artifact_type: text") {
		t.Errorf("got %+v, %v", read, err)
	}

	testkit.OK(t, os.WriteFile(list[2].File, []byte("words: 9\n"), 0o644))
	list, err = e.Artifacts("demo")
	if err != nil || !strings.Contains(list[2].Problem, "differs from the recorded file") || list[2].Valid {
		t.Errorf("of a changed file: %+v, %v", list[2], err)
	}
	if _, err := e.ReadArtifact("demo", list[2]); failure.KindOf(err) != failure.Tampered {
		t.Errorf("reading it: %v", err)
	}
}

// summary formats each artifact: node, path, type, version, visit, newest, valid.
func summary(list []engine.ArtifactInfo) []string {
	var lines []string
	for _, a := range list {
		lines = append(lines, fmt.Sprintf("%s %s %s %s v%d %v %v", a.Node, a.Path, a.Type, a.Version, a.Visit, a.Latest, a.Valid))
	}
	return lines
}

// All artifacts of a node that wraps a pipeline are listed, not only the newest.
func TestArtifactsOfWraps(t *testing.T) {
	visits := 0
	a := agent{work: func(_ context.Context, req sdk.ExecuteRequest) error {
		if req.Node == "judge" {
			visits++
		}
		return os.WriteFile(req.Paths.Artifact, fmt.Appendf(nil, "word: %s\n", []string{"bad", "bad", "good"}[visits]), 0o644)
	}}
	dir := project(t, `name: two
defaults: {provider: agent}
nodes:
  - {id: whole, wraps: {pipeline: part}}
  - id: judge
    prompt: judge
    artifact: {verdict: {field: word, map: {good: success, bad: fail}}}
    transitions: {success: done, fail: {to: whole, limit: 2}}
`)
	testkit.OK(t, os.WriteFile(filepath.Join(dir, ".claude", "pipelines", "part.yaml"), []byte("name: part\ndefaults: {provider: agent}\nnodes: [{id: made, prompt: make, artifact: {type: word}}]\n"), 0o644))
	e := newEngine(t, dir, a)
	testkit.OK(t, completed(e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: "demo"})))
	list := testkit.Must(e.Artifacts("demo"))
	var wrapped []string
	for _, line := range summary(list) {
		if strings.HasPrefix(line, "whole ") {
			wrapped = append(wrapped, line)
		}
	}
	testkit.Equal(t, []string{"whole 0 generic 1.0 v1 false true", "whole 0 generic 1.0 v2 true true"}, wrapped)
}
