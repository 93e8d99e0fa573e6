package reference_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/engine/internal/reference"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
)

var update = flag.Bool("update", false, "rewrite the reference and the published schemas")

// A8: the reference and the schemas for editors match the tables.
func TestPublished(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "docs")
	want := map[string]string{filepath.Join(docs, "reference.md"): page()}
	for _, f := range reference.Files() {
		text := testkit.Must(reference.Schema(f, "https://raw.githubusercontent.com/dodo-digital/agent-pipelines/main/docs/schema/"+f.Name+".json"))
		want[filepath.Join(docs, "schema", f.Name+".json")] = string(text)
	}
	for file, text := range want {
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // documentation
				t.Fatal(err)
			}
		}
		have := testkit.Must(os.ReadFile(file))
		if diff := cmp.Diff(string(have), text); diff != "" {
			t.Errorf("%s is out of date, run with -update (-file +generated):\n%s", file, diff)
		}
	}
}

// Every key has a description, and names are unique.
func TestTables(t *testing.T) {
	seen := map[string]*dialect.Object{}
	for _, f := range reference.Files() {
		for _, m := range reference.Objects(f) {
			if other := seen[m.Name]; other != nil && other != m {
				t.Errorf("two maps are called %s", m.Name)
			}
			seen[m.Name] = m
			if m.Doc == "" {
				t.Errorf("%s has no description", m.Name)
			}
			names := map[string]bool{}
			for _, k := range m.Fields {
				if k.Doc == "" || names[k.Name] {
					t.Errorf("%s.%s has no description or is repeated", m.Name, k.Name)
				}
				names[k.Name] = true
			}
		}
	}
}
