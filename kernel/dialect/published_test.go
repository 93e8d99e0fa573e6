package dialect_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/dialect"
)

var update = flag.Bool("update", false, "rewrite the reference and the published schemas")

// A8: the reference and the schemas that editors fetch are what the tables come to.
func TestPublished(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	want := map[string]string{filepath.Join(docs, "reference.md"): dialect.Page()}
	for _, f := range dialect.Files() {
		text, err := f.Schema("https://raw.githubusercontent.com/dodo-digital/agent-pipelines/main/docs/schema/" + f.Name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		want[filepath.Join(docs, "schema", f.Name+".json")] = string(text)
	}
	for file, text := range want {
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil { //nolint:gosec // documentation
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(have), text); diff != "" {
			t.Errorf("%s is not fresh, run with -update (-there +generated):\n%s", file, diff)
		}
	}
}

// Every key says what it is for, and no two maps have one name.
func TestTables(t *testing.T) {
	seen := map[string]*dialect.Object{}
	for _, f := range dialect.Files() {
		for _, m := range f.All() {
			if other := seen[m.Name]; other != nil && other != m {
				t.Errorf("two maps are called %s", m.Name)
			}
			seen[m.Name] = m
			if m.Doc == "" {
				t.Errorf("%s says nothing of itself", m.Name)
			}
			names := map[string]bool{}
			for _, k := range m.Keys {
				if k.Doc == "" || names[k.Name] {
					t.Errorf("%s.%s says nothing of itself, or stands twice", m.Name, k.Name)
				}
				names[k.Name] = true
			}
		}
	}
}
