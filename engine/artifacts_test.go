package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

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

// U054, C3: all versions of artifacts are listed in plan order and validated; reading changes nothing.
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
	wantError(t, second(e.Artifacts("demo")), engine.ErrNoSession)
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
	if _, err := e.ReadArtifact("demo", list[2]); failure.KindOf(err) != failure.StateCorrupt {
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
