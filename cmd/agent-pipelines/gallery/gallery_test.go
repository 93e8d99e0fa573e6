package gallery_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/gallery"
)

// Every directory is an example, with a pipeline of its name and replies of the mock.
func TestExamples(t *testing.T) {
	var named, dirs []string
	for _, e := range gallery.Examples() {
		named = append(named, e.Name)
		files, err := e.Files()
		if err != nil {
			t.Fatal(err)
		}
		pipeline := string(files[".claude/pipelines/"+e.Name+".yaml"])
		if len(files[e.Mock]) == 0 || !strings.Contains(pipeline, "name: "+e.Name+"\n") || files["README.md"] != nil || e.Shows == "" {
			t.Errorf("%s has no pipeline of its name, no answers of the mock, or a README", e.Name)
		}
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			dirs = append(dirs, entry.Name())
		}
	}
	slices.Sort(named)
	if diff := cmp.Diff(dirs, named); diff != "" {
		t.Error(diff)
	}
}
