package imports_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/tools/imports"
)

// target matches a fuzz target in the table of parsers.
var target = regexp.MustCompile("`([a-z0-9/-]+\\.Fuzz[A-Za-z0-9]+)`")

// The table of parsers in docs/proofs.md names every fuzz target once, and no others.
func TestParsers(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(workspace, "docs", "proofs.md"))
	if err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, m := range target.FindAllStringSubmatch(string(page), -1) {
		named = append(named, m[1])
	}
	files, err := imports.Load(os.DirFS(workspace))
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	for _, f := range files {
		if !f.Test {
			continue
		}
		for _, d := range f.Syntax.Decls {
			if fn, isFunc := d.(*ast.FuncDecl); isFunc && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Fuzz") {
				declared = append(declared, f.Package+"."+fn.Name.Name)
			}
		}
	}
	slices.Sort(named)
	slices.Sort(declared)
	if diff := cmp.Diff(declared, named); diff != "" {
		t.Errorf("fuzz targets (-in the code +in docs/proofs.md):\n%s", diff)
	}
}
