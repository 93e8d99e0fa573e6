package engine_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// testLibrary returns a library of stages whose texts contain a version.
func testLibrary(version string) fstest.MapFS {
	return fstest.MapFS{
		"stages/tick/stage.yaml":        {Data: []byte("name: tick\nprovider: agent\nprompt: ask\ndelay: 0\n")},
		"stages/tick/prompts/ask.md":    {Data: []byte("tick of " + version)},
		"stages/tick/notes/why.txt":     {Data: []byte("for users")},
		"stages/unused/stage.yaml":      {Data: []byte("name: unused\nprovider: agent\n")},
		"stages/unused/prompt.md":       {Data: []byte("unused")},
		"stages/tock/stage.yaml":        {Data: []byte("name: tock\nprovider: agent\n")},
		"stages/tock/prompts/prompt.md": {Data: []byte("tock of " + version)},
	}
}

// promptAgent returns an agent that records its prompts and fails while broken is set.
func promptAgent(prompts *[]string, broken *bool) agent {
	return agent{work: func(_ context.Context, req sdk.ExecuteRequest) error {
		*prompts = append(*prompts, req.Prompt)
		if *broken {
			return failure.New(failure.AgentError, "not today")
		}
		return nil
	}}
}

// copiedFiles returns the slash-separated names of the files below a session's library/.
func copiedFiles(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	root := filepath.Join(dir, "library")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		names = append(names, filepath.ToSlash(name))
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return names
}

// U006: shipped stages run, also in embedded pipelines. The session copies only the folders of the stages
// that it uses; a dry run copies none.
func TestLibraryRuns(t *testing.T) {
	root := project(t, "{name: two, nodes: [{id: a, stage: tick}, {id: b, pipeline: inner}]}")
	inner := filepath.Join(root, ".claude/pipelines/inner.yaml")
	testkit.OK(t, os.WriteFile(inner, []byte("{name: inner, nodes: [{id: c, stage: tock}]}"), 0o644))
	var prompts []string
	e := newEngine(t, root, promptAgent(&prompts, new(bool)), engine.WithLibrary(testLibrary("v1")))
	d, err := e.DryRun(t.Context(), engine.DryRunOptions{Run: engine.RunOptions{Pipeline: "two", Session: "demo"}})
	if err != nil || len(d.Stages) != 2 || d.Stages[0].Prompt != "tick of v1" || d.Stages[1].Prompt != "tock of v1" {
		t.Errorf("dry run %+v, %v", d, err)
	}
	wantError(t, testkit.Error(e.Status("demo")), engine.ErrNoSession)
	var missing *engine.NotFoundError
	if _, err := e.Run(t.Context(), engine.RunOptions{Stage: "tik"}); !errors.As(err, &missing) || missing.Nearest != "tick" {
		t.Errorf("error %v", err)
	}
	result := runTwo(t, e)
	if want := []string{"tick of v1", "tock of v1"}; !result.Success || !slices.Equal(prompts, want) {
		t.Errorf("result %+v, prompts %q", result, prompts)
	}
	want := []string{
		"stages/tick/notes/why.txt", "stages/tick/prompts/ask.md", "stages/tick/stage.yaml",
		"stages/tock/prompts/prompt.md", "stages/tock/stage.yaml",
	}
	testkit.Equal(t, want, copiedFiles(t, result.Dir))
	planned, err := os.ReadFile(filepath.Join(result.Dir, "plan.json"))
	if err != nil || !strings.Contains(string(planned), `"prompt_path": ".claude/pipeline-runs/demo/library/stages/tick/prompts/ask.md"`) {
		t.Errorf("plan %s, %v", planned, err)
	}
}

// U303: a shipped pipeline runs by name and embedded; the project's own pipeline of the same name takes precedence.
func TestLibraryPipeline(t *testing.T) {
	root := project(t, "{name: two, nodes: [{id: a, pipeline: loop}]}")
	library := testLibrary("v1")
	library["pipelines/loop.yaml"] = &fstest.MapFile{Data: []byte("{name: loop, nodes: [{id: c, stage: tock}]}")}
	var prompts []string
	e := newEngine(t, root, promptAgent(&prompts, new(bool)), engine.WithLibrary(library))
	r, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "loop", NameAfterPipeline: true})
	if err != nil || !r.Success || !strings.HasPrefix(r.Session, "loop-") || !slices.Equal(prompts, []string{"tock of v1"}) {
		t.Fatalf("%+v, %v, prompts %q", r, err, prompts)
	}
	if kept, err := os.ReadFile(filepath.Join(r.Dir, "pipeline.yaml")); err != nil || string(kept) != "{name: loop, nodes: [{id: c, stage: tock}]}" {
		t.Errorf("kept %q, %v", kept, err)
	}
	planned, err := os.ReadFile(filepath.Join(r.Dir, "plan.json"))
	if err != nil || !strings.Contains(string(planned), `"path": "library:pipelines/loop.yaml"`) {
		t.Errorf("plan %s, %v", planned, err)
	}
	if r, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two"}); err != nil || !r.Success || !strings.HasPrefix(r.Session, "pipeline-") || len(prompts) != 2 {
		t.Errorf("embedded: %+v, %v", r, err)
	}
	targets, err := e.Authoring().Lint(t.Context(), authoring.LintOptions{Pipelines: []string{"loop"}})
	if err != nil || len(targets) != 1 || targets[0].File != "library:pipelines/loop.yaml" || targets[0].Name != "loop" || !targets[0].Passed {
		t.Errorf("lint %+v, %v", targets, err)
	}
	own := filepath.Join(root, ".claude/pipelines/loop.yaml")
	testkit.OK(t, os.WriteFile(own, []byte("{name: own, nodes: [{id: c, stage: tick}]}"), 0o644))
	if _, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "loop", Session: "own"}); err != nil || prompts[len(prompts)-1] != "tick of v1" {
		t.Errorf("the project's own: %v, prompts %q", err, prompts)
	}
}

// A session that another version of the program resumes keeps its copies of shipped stages. A restarted session uses
// the current library.
func TestLibraryAfterAnUpgrade(t *testing.T) {
	for name, later := range map[string]fs.FS{"another version": testLibrary("v2"), "nothing is shipped": nil} {
		t.Run(name, func(t *testing.T) {
			root, broken := t.TempDir(), true
			var prompts []string
			a := promptAgent(&prompts, &broken)
			o := engine.RunOptions{Stage: "tick", Max: 1, Session: "demo"}
			if r, err := newEngine(t, root, a, engine.WithLibrary(testLibrary("v1"))).Run(t.Context(), o); err != nil || r.ResumeCommand == "" {
				t.Fatalf("%+v, %v", r, err)
			}
			broken, prompts = false, nil
			r, err := newEngine(t, root, a, engine.WithLibrary(later)).Resume(t.Context(), engine.ResumeOptions{Session: "demo"})
			if err != nil || r.Failure != nil || !slices.Equal(prompts, []string{"tick of v1"}) {
				t.Fatalf("resumed: %+v, %v, prompts %q", r, err, prompts)
			}
			prompts, o.Force = nil, true
			if _, err := newEngine(t, root, a, engine.WithLibrary(testLibrary("v3"))).Run(t.Context(), o); err != nil || !slices.Equal(prompts, []string{"tick of v3"}) {
				t.Errorf("started again: %v, prompts %q", err, prompts)
			}
		})
	}
}

// A failed copy of a stage is reported with the stage.
func TestLibraryCannotBeCopied(t *testing.T) {
	library := unreadableLibrary{testLibrary("v1"), "stages/tick/notes/why.txt"}
	e := newEngine(t, t.TempDir(), agent{}, engine.WithLibrary(library))
	_, err := e.Run(t.Context(), engine.RunOptions{Stage: "tick", Session: "demo"})
	if err == nil || !strings.Contains(err.Error(), "copy the shipped stages/tick into the session: ") || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v", err)
	}
}

// unreadableLibrary is a library with one unreadable file.
type unreadableLibrary struct {
	fstest.MapFS
	name string
}

func (u unreadableLibrary) ReadFile(name string) ([]byte, error) {
	if name == u.name {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrPermission}
	}
	return u.MapFS.ReadFile(name)
}
