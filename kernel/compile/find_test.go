package compile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
)

// lookupRoots writes files to a directory with project/ and engine/.
func lookupRoots(t *testing.T, files ...string) (dir string, roots sources.Roots) {
	t.Helper()
	dir = t.TempDir()
	for _, f := range files {
		writeFile(t, filepath.Join(dir, f), nil)
	}
	return dir, sources.Roots{Project: filepath.Join(dir, "project"), Engine: filepath.Join(dir, "engine")}
}

func TestFindPipeline(t *testing.T) {
	places := []string{ // in the order of the search
		"project/x",
		"project/.claude/pipelines/x", "project/.claude/pipelines/x.yaml",
		"engine/scripts/pipelines/x", "engine/scripts/pipelines/x.yaml",
		"project/scripts/pipelines/x", "project/scripts/pipelines/x.yaml",
	}
	for i, first := range places {
		dir, roots := lookupRoots(t, places[i:]...)
		got, err := roots.FindPipeline("x")
		require(t, err == nil && got == filepath.Join(dir, first), places[i:], got, err)
	}
	dir, roots := lookupRoots(t, "elsewhere/y.yaml", "project/sub/z.yaml")
	for name, want := range map[string]string{
		filepath.Join(dir, "elsewhere", "y.yaml"): "elsewhere/y.yaml",
		"../elsewhere/y.yaml":                     "elsewhere/y.yaml",
		"./sub/z.yaml":                            "project/sub/z.yaml",
	} {
		got, err := roots.FindPipeline(name)
		require(t, err == nil && got == filepath.Join(dir, want), name, got, err)
	}
}

func TestPipelineNotFound(t *testing.T) {
	dir, roots := lookupRoots(t, "project/.claude/pipelines/ideate.yaml", "engine/scripts/pipelines/refine.yaml", "engine/scripts/pipelines/README.md", "project/x/y")
	_, err := roots.FindPipeline("ideat.yaml")
	want := &sources.NotFoundError{Kind: "pipeline", Name: "ideat.yaml", Nearest: "ideate", Searched: []string{
		"ideat.yaml", ".claude/pipelines/ideat.yaml", ".claude/pipelines/ideat.yaml.yaml",
		dir + "/engine/scripts/pipelines/ideat.yaml", dir + "/engine/scripts/pipelines/ideat.yaml.yaml",
		"scripts/pipelines/ideat.yaml", "scripts/pipelines/ideat.yaml.yaml",
	}}
	var got *sources.NotFoundError
	require(t, errors.As(err, &got), err)
	compare(t, want, got)
	compare(t, `pipeline "ideat.yaml" not found`, got.Error())
	compare(t, []string{"ideate", "refine"}, roots.Pipelines())
	for _, name := range []string{"", "x", "x/y/z"} { // empty, a directory, below a file
		if got, err := roots.FindPipeline(name); err == nil {
			t.Errorf("FindPipeline(%q) = %q", name, got)
		}
	}
}

// A shipped pipeline is found last, and only by its name.
func TestFindShippedPipeline(t *testing.T) {
	dir, roots := lookupRoots(t, "project/.claude/pipelines/own.yaml", "project/scripts/pipelines/both.yaml")
	roots.Library = fstest.MapFS{
		"pipelines/agent.yaml": {Data: []byte("name: shipped")}, "pipelines/both.yaml": {}, "stages/s/stage.yaml": {},
	}
	for name, want := range map[string]string{
		"agent": "library:pipelines/agent.yaml", "agent.yaml": "library:pipelines/agent.yaml",
		"both": filepath.Join(dir, "project/scripts/pipelines/both.yaml"),
	} {
		got, err := roots.FindPipeline(name)
		require(t, err == nil && got == want, name, got, err)
	}
	data, problem := roots.ReadPipeline("library:pipelines/agent.yaml")
	require(t, string(data) == "name: shipped" && problem == "", string(data), problem)
	if _, problem := roots.ReadPipeline("library:pipelines/gone.yaml"); problem != "the file cannot be read: file does not exist" {
		t.Errorf("problem %q", problem)
	}
	if _, problem := (sources.Roots{}).ReadPipeline("library:pipelines/agent.yaml"); problem != "this program has no library" {
		t.Errorf("problem %q", problem)
	}
	for _, name := range []string{"pipelines/agent", "../agent", "./agent.yaml", "s", "library:pipelines/agent.yaml", ""} {
		got, err := roots.FindPipeline(name)
		require(t, err != nil, name, got)
	}
	var missing *sources.NotFoundError
	_, err := roots.FindPipeline("agnet")
	require(t, errors.As(err, &missing) && missing.Nearest == "agent" && missing.Searched[len(missing.Searched)-1] == "the shipped pipelines", err)
	compare(t, []string{"agent", "both", "own"}, roots.Pipelines())
}

func TestFindStage(t *testing.T) {
	places := []string{"project/.claude/stages/s", "flows/stages/s", "engine/scripts/stages/s", "project/scripts/stages/s"}
	for i, first := range places {
		var files []string
		for _, p := range places[i:] {
			files = append(files, p+"/stage.yaml")
		}
		dir, roots := lookupRoots(t, files...)
		roots.Library = fstest.MapFS{"stages/s/stage.yaml": {}}
		got, err := roots.FindStage("s", filepath.Join(dir, "flows"))
		want := sources.StageDir{Name: "s", Path: filepath.Join(dir, first)}
		diff := cmp.Diff(want, got)
		require(t, err == nil && diff == "", files, err, diff)
	}
	_, roots := lookupRoots(t)
	roots.Library = fstest.MapFS{"stages/s/stage.yaml": {}}
	got, err := roots.FindStage("s", "")
	want := (sources.StageDir{Name: "s", Path: "stages/s", Library: true})
	require(t, err == nil && got == want, got, err)
}

func TestStageNotFound(t *testing.T) {
	_, roots := lookupRoots(t, "project/.claude/stages/refine/stage.yaml", "project/.claude/stages/nothing/prompt.md")
	roots.Library = fstest.MapFS{"stages/tick/stage.yaml": {}}
	roots.Engine = "."
	_, err := roots.FindStage("rifine", "")
	want := &sources.NotFoundError{Kind: "stage", Name: "rifine", Nearest: "refine", Searched: []string{
		".claude/stages/rifine/stage.yaml", "scripts/stages/rifine/stage.yaml", "the shipped stages",
	}}
	var got *sources.NotFoundError
	require(t, errors.As(err, &got), err)
	compare(t, want, got)
	hint := `did you mean "refine"? searched .claude/stages/rifine/stage.yaml, scripts/stages/rifine/stage.yaml, the shipped stages`
	compare(t, hint, got.Hint())
	compare(t, []string{"refine", "tick"}, roots.Stages(""))
	for _, name := range []string{"", ".", "..", "../stages/refine", `..\refine`, "nothing"} {
		if got, err := roots.FindStage(name, ""); err == nil {
			t.Errorf("FindStage(%q) = %v", name, got)
		}
	}
	_, err = compile.Stage(compile.Request{Roots: roots, Catalog: catalog{}}, compile.Loop{Stage: "gone"})
	require(t, errors.As(err, &got) && got.Name == "gone", err)
}

// compileFiles compiles p.yaml of a directory with the pipeline files.
func compileFiles(t *testing.T, files map[string]string) (string, *compile.Result, error) {
	t.Helper()
	req := diagnosticRequest(t, nil)
	for name, text := range files {
		writeFile(t, filepath.Join(req.Project, name), []byte(text))
	}
	r, err := compile.Pipeline(req)
	return req.Project, r, err
}

// pipelineChain returns p.yaml and n more pipelines, each embedded in the one before.
func pipelineChain(n int) map[string]string {
	files := map[string]string{"p.yaml": "name: p\nnodes: [{id: a, pipeline: f1.yaml}]\n"}
	for i := 1; i < n; i++ {
		files[fmt.Sprintf("f%d.yaml", i)] = fmt.Sprintf("name: f\nnodes: [{id: a, pipeline: f%d.yaml}]\n", i+1)
	}
	files[fmt.Sprintf("f%d.yaml", n)] = "name: f\nnodes: [{id: a, prompt: x}]\n"
	return files
}

func TestDepthOfEmbedding(t *testing.T) {
	_, r, err := compileFiles(t, pipelineChain(9))
	check(t, err)
	n := r.Plan.Find("0" + strings.Repeat(".0", 9))
	require(t, n != nil && n.Prompt == "x", n)
	_, _, err = compileFiles(t, pipelineChain(10))
	want := "f9.yaml:2:27: error[AP-YAML-207]: pipelines embed each other more than 10 files deep: p.yaml → f1.yaml → f2.yaml → " +
		"f3.yaml → f4.yaml → f5.yaml → f6.yaml → f7.yaml → f8.yaml → f9.yaml → f10.yaml (embed fewer pipelines)"
	require(t, err != nil && err.Error() == want, err)
}

// Five files of twenty nodes each stand for 3.2 million nodes. The compiler counts the nodes without creating them.
func TestSizeOfEmbedding(t *testing.T) {
	files := map[string]string{}
	for i, name := range []string{"p", "f1", "f2", "f3", "f4"} {
		text := "name: f\nnodes:\n"
		for j := range 20 {
			if i == 4 {
				text += fmt.Sprintf("- {id: n%d, prompt: x}\n", j)
			} else {
				text += fmt.Sprintf("- {id: n%d, pipeline: f%d.yaml}\n", j, i+1)
			}
		}
		files[name+".yaml"] = text
	}
	_, _, err := compileFiles(t, files)
	want := "f1.yaml:1:1: error[AP-YAML-006]: the pipeline and its embedded pipelines have 168420 nodes, more than the 10000 allowed (embed fewer pipelines)"
	require(t, err != nil && err.Error() == want, err)
}

// A circle is found even if a symbolic link gives a file a second name.
func TestCycleThroughSymlink(t *testing.T) {
	dir, _, _ := compileFiles(t, map[string]string{"p.yaml": "name: p\nnodes: []\n"})
	check(t, os.Symlink("p.yaml", filepath.Join(dir, "other.yaml")))
	writeFile(t, filepath.Join(dir, "p.yaml"), []byte("name: p\nnodes: [{id: a, pipeline: other.yaml}]\n"))
	_, err := compile.Pipeline(compile.Request{Roots: sources.Roots{Project: dir}, File: "p.yaml", Catalog: catalog{}})
	want := "p.yaml:2:27: error[AP-YAML-207]: pipelines embed each other in a circle: p.yaml → other.yaml (remove one of these nodes)"
	require(t, err != nil && err.Error() == want, err)
}
