package guide

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProofsExist checks that every test, benchmark and script that docs/proofs.md and docs/threat-model.md name exists.
// docs/threat-model.md must name each hostile script, and docs/proofs.md exactly the fuzz targets of the repository.
func TestProofsExist(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "proofs.md"))
	if err != nil {
		t.Fatal(err)
	}
	threats, err := os.ReadFile(filepath.Join(root, "docs", "threat-model.md"))
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]bool{}
	var targets []string
	function := regexp.MustCompile(`(?m)^func ((Test|Benchmark|Fuzz)\w+)\(`)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
			return fs.SkipDir
		case strings.HasSuffix(path, ".txtar"):
			functions[d.Name()] = true
			if name := "hostile/" + d.Name(); filepath.Base(filepath.Dir(path)) == "hostile" && !bytes.Contains(threats, []byte("`"+name+"`")) {
				t.Errorf("docs/threat-model.md does not name %s", name)
			}
		case strings.HasSuffix(path, "_test.go"):
			source, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range function.FindAllSubmatch(source, -1) {
				functions[string(m[1])] = true
				if string(m[2]) == "Fuzz" {
					dir, err := filepath.Rel(root, filepath.Dir(path))
					if err != nil {
						return err
					}
					targets = append(targets, filepath.ToSlash(dir)+"."+string(m[1]))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(?:hostile/)?((?:Test|Benchmark)\\w+|[a-z0-9-]+\\.txtar)`").FindAllSubmatch(slices.Concat(text, threats), -1)
	for _, m := range named {
		if !functions[string(m[1])] {
			t.Errorf("docs/proofs.md or docs/threat-model.md names %s, which does not exist", m[1])
		}
	}
	if len(named) == 0 {
		t.Error("docs/proofs.md names no tests")
	}
	var fuzzed []string
	for _, m := range regexp.MustCompile("`([a-z0-9/-]+\\.Fuzz[A-Za-z0-9]+)`").FindAllSubmatch(text, -1) {
		fuzzed = append(fuzzed, string(m[1]))
	}
	slices.Sort(targets)
	slices.Sort(fuzzed)
	if diff := cmp.Diff(targets, fuzzed); diff != "" {
		t.Errorf("fuzz targets (-in the code +in docs/proofs.md):\n%s", diff)
	}
}
