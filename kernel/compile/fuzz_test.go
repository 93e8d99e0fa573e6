package compile_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// FuzzPipeline compiles any pipeline file with any other file, used as a stage and as an embedded pipeline. The
// compiler never panics, each diagnostic has a position inside its file, and a plan's JSON decodes to the same plan.
func FuzzPipeline(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.txtar")
	require(f, err == nil && len(files) != 0, err)
	for _, file := range files {
		archive := must(txtar.ParseFile(file))
		for _, part := range archive.Files {
			switch {
			case strings.HasSuffix(part.Name, "stage.yaml"):
				f.Add([]byte("name: p\nnodes: [{id: a, stage: s}]\n"), part.Data)
			case strings.HasSuffix(part.Name, ".yaml"):
				f.Add(part.Data, []byte("termination: {type: judgment, max: 3}\nprompt: prompt\nrequires: {'*': [a]}\nartifact: {type: t}\n"))
				f.Add([]byte("name: p\nnodes: [{id: a, pipeline: sub.yaml, runs: 2}, {id: b, stage: s, steps: {from: a, path: x}, transitions: {fail: a}}]\n"), part.Data)
			}
		}
	}
	f.Add([]byte("name: p\nnodes: [{id: a, pipeline: sub.yaml}]\n"), []byte("name: s\nnodes: [{id: a, pipeline: p.yaml}]\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, pipeline, stage []byte) {
		file := filepath.Join(dir, "p.yaml")
		check(t, errors.Join(os.WriteFile(file, pipeline, 0o600), os.WriteFile(filepath.Join(dir, "sub.yaml"), stage, 0o600)))
		req := compile.Request{
			Roots: sources.Roots{Project: dir, Library: fstest.MapFS{
				"stages/s/stage.yaml": {Data: stage}, "stages/s/prompt.md": {},
			}},
			File: file, Session: "s", Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{}, OverrideLabel: asFlag,
		}
		texts := map[string][]byte{"p.yaml": pipeline, "sub.yaml": stage, "library:stages/s/stage.yaml": stage}
		result, err := compile.Pipeline(req)
		checkOutcome(t, result, err, texts)
		over := req
		over.Overrides = plan.Overrides{
			PathOverrides: plan.PathOverrides{Start: "b", ExitAfter: "c", Skip: []string{"d"}, Supervised: true, Iterate: []string{"a"}, Timeout: 60},
			Artifacts:     map[string]string{"a": "a.yaml", "note": "note.yaml"},
		}
		result, err = compile.Pipeline(over)
		checkOutcome(t, result, err, texts)
		result, err = compile.Stage(req, compile.Loop{Stage: "s"})
		checkOutcome(t, result, err, texts)
	})
}

func checkOutcome(t *testing.T, result *compile.Result, err error, texts map[string][]byte) {
	t.Helper()
	if err != nil {
		var ds yamldoc.Diagnostics
		require(t, errors.As(err, &ds) && ds.HasErrors(), err)
		checkPlaces(t, ds, texts)
		return
	}
	require(t, !result.Warnings.HasErrors(), result.Warnings)
	checkPlaces(t, result.Warnings, texts)
	data := must(json.Marshal(result.Plan))
	var back plan.Plan
	check(t, json.Unmarshal(data, &back))
	again, err := json.Marshal(&back)
	diff := cmp.Diff(string(data), string(again))
	require(t, err == nil && diff == "", err, diff)
}

func checkPlaces(t *testing.T, ds yamldoc.Diagnostics, texts map[string][]byte) {
	t.Helper()
	for _, d := range ds {
		if strings.HasPrefix(d.File, "--") && d.Line == 0 && d.Code != "" && d.Message != "" {
			continue // the file is a flag
		}
		text, known := texts[d.File]
		lines := strings.Count(string(text), "\n") + strings.Count(string(text), "\r") + 2
		require(t, known && d.Line >= 1 && d.Line <= lines && d.Column >= 1 && d.Code != "" && d.Message != "", d)
	}
}
