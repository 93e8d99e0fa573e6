package compile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
)

// compileFiles compiles p.yaml of a directory with the pipeline files.
func compileFiles(t *testing.T, files map[string]string) (string, *compile.Result, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		writeFile(t, filepath.Join(dir, name), []byte(text))
	}
	r, err := compile.Pipeline(compile.Request{
		Roots: sources.Roots{Project: dir}, File: "p.yaml", Session: "s", Now: time.Unix(0, 0), DefaultProvider: "claude", Catalog: catalog{},
	})
	return dir, r, err
}

// pipelineChain returns n pipelines, each embedded in the one before; the first is p.yaml.
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
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Plan.Find("0" + strings.Repeat(".0", 9)); n == nil || n.Prompt != "x" {
		t.Errorf("the innermost node is %+v", n)
	}
	_, _, err = compileFiles(t, pipelineChain(10))
	want := "f9.yaml:2:27: error[AP-YAML-207]: pipelines embed each other more than 10 files deep: p.yaml → f1.yaml → f2.yaml → " +
		"f3.yaml → f4.yaml → f5.yaml → f6.yaml → f7.yaml → f8.yaml → f9.yaml → f10.yaml (embed fewer pipelines)"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Five files of twenty nodes each stand for 3.2 million nodes. The compiler counts them without making them.
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
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// A file is the same under each of its names.
func TestCircleThroughALink(t *testing.T) {
	dir, _, _ := compileFiles(t, map[string]string{"p.yaml": "name: p\nnodes: []\n"})
	check(t, os.Symlink("p.yaml", filepath.Join(dir, "other.yaml")))
	writeFile(t, filepath.Join(dir, "p.yaml"), []byte("name: p\nnodes: [{id: a, pipeline: other.yaml}]\n"))
	_, err := compile.Pipeline(compile.Request{Roots: sources.Roots{Project: dir}, File: "p.yaml", Catalog: catalog{}})
	want := "p.yaml:2:27: error[AP-YAML-207]: pipelines embed each other in a circle: p.yaml → other.yaml (remove one of these nodes)"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
