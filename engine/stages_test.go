package engine_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// An embedding program can list stages and pipelines: the project's before shipped ones, with hidden and
// faulty ones marked.
func TestStagesAndPipelines(t *testing.T) {
	root := project(t, twoStages)
	writeFiles(t, root, map[string]string{
		".claude/stages/tick/stage.yaml":   "name: tick\ndescription: ticks\nprovider: agent\nprompt: prompt\nartifact: {type: beat}\n",
		".claude/stages/tick/prompt.md":    "tick for ${SESSION_NAME} with ${CONTEXT}",
		".claude/stages/broken/stage.yaml": "name: broken\nprovider: unknown\n",
	})
	e := newEngine(t, root, agent{}, engine.WithLibrary(testLibrary("v1")))
	stages := testkit.Must(e.Authoring().Stages(t.Context()))
	var listed []string
	for _, s := range stages {
		listed = append(listed, strings.TrimRight(strings.Join([]string{s.Name, s.Description, s.Artifact, strings.Join(s.Shadows, "+"), map[bool]string{true: "passed", false: "faults"}[s.Passed]}, " "), " "))
	}
	want := []string{"broken    faults", "tick ticks beat library:stages/tick/stage.yaml passed", "tock    passed", "unused    passed"}
	testkit.Equal(t, want, listed)

	tick := testkit.Must(e.Authoring().Stage(t.Context(), "tick"))
	if diff := cmp.Diff([]string{"SESSION_NAME", "CONTEXT"}, tick.Variables); diff != "" || tick.Node.ID != "tick" || tick.File != ".claude/stages/tick/stage.yaml" {
		t.Errorf("%+v\n%s", tick, diff)
	}
	if tock, err := e.Authoring().Stage(t.Context(), "tock"); err != nil || tock.Prompt != "library:stages/tock/prompts/prompt.md" {
		t.Errorf("shipped: %+v, %v", tock, err)
	}
	var found engine.Diagnostics
	if _, err := e.Authoring().Stage(t.Context(), "broken"); !errors.As(err, &found) || !found.HasErrors() {
		t.Errorf("broken: %v", err)
	}
	testkit.Fails(t, testkit.Error(e.Authoring().Stage(t.Context(), "tikc")), "tikc")
	if file, ok := authoring.FindStage(root, "", "tick"); !ok || file != ".claude/stages/tick/stage.yaml" {
		t.Errorf("found %q, %t", file, ok)
	}
	if file, ok := authoring.FindStage(root, "", "tock"); ok {
		t.Errorf("a shipped one is found as %q", file)
	}

	pipelines := testkit.Must(e.Authoring().Pipelines(t.Context()))
	testkit.Equal(t, []authoring.PipelineInfo{{Name: "two", File: ".claude/pipelines/two.yaml", Nodes: []string{"plan", "build"}, Passed: true}}, pipelines)
	if file, text, err := e.Authoring().PipelineText("two"); err != nil || file != ".claude/pipelines/two.yaml" || string(text) != twoStages {
		t.Errorf("%q, %q, %v", file, text, err)
	}
	if _, _, err := e.Authoring().PipelineText("three"); err == nil || !strings.Contains(err.Error(), "three") {
		t.Errorf("none: %v", err)
	}
}

// A setting is written to the chosen layer, the rest of the file is kept, and its source is shown. An invalid
// key or value changes nothing.
func TestSetSetting(t *testing.T) {
	e := layeredEngine(t, &[]string{}, "# ours\nbackground: tmux\n", "background: off\ndefaults: {delay: 9}\n")
	testkit.Must(e.Authoring().SetSetting(t.Context(), authoring.LayerProject, "defaults.delay", "0.5"))
	text, err := os.ReadFile(filepath.Join(e.WorkDir(), ".claude/config.yaml"))
	if err != nil || !strings.HasPrefix(string(text), "# ours\nbackground: tmux\n") || !strings.Contains(string(text), "delay: 0.5") {
		t.Errorf("%s, %v", text, err)
	}
	testkit.Must(e.Authoring().SetSetting(t.Context(), authoring.LayerUser, "commands.test", "go test ./..."))
	all := testkit.Must(e.Authoring().SettingOrigins(t.Context()))
	var listed []string
	for _, o := range all {
		listed = append(listed, strings.Join([]string{o.Key, o.Value, string(o.Layer), map[bool]string{true: "counts", false: "does not"}[o.Effective]}, " "))
	}
	if len(listed) == 0 || !strings.Contains(strings.Join(listed, "\n"), "background tmux project counts") || !strings.Contains(strings.Join(listed, "\n"), "background off user does not") {
		t.Errorf("%q", listed)
	}
	for key, value := range map[string]string{"no.such": "1", "defaults.delay": "-1", "background": "sometimes"} {
		if found, err := e.Authoring().SetSetting(t.Context(), authoring.LayerProject, key, value); err == nil {
			t.Errorf("%s %s: %v", key, value, found)
		}
	}
	if again, err := os.ReadFile(filepath.Join(e.WorkDir(), ".claude/config.yaml")); err != nil || !bytes.Equal(again, text) {
		t.Errorf("changed all the same: %s, %v", again, err)
	}
	if err := authoring.CheckSetting("background"); err != nil {
		t.Error(err)
	}
	wantError(t, authoring.CheckSetting("no.such"), engine.ErrOptions)
}
