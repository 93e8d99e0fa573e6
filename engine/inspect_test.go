package engine_test

import (
	"context"
	"errors"
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
)

// Inspect returns the results of the four queries and passes on every event; for a session that never began
// it returns only the status.
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
	wantError(t, second(e.Inspect("demo", nil)), engine.ErrNoSession)
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

// For a loop of the Bash engine the plan is known after the journal was read: then all events are repeated
// with it.
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
