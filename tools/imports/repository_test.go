package imports_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dodo-digital/agent-pipelines/tools/imports"
)

// workspace is the root of the workspace, relative to this package.
const workspace = "../.."

// TestRepository applies the checks to the real workspace. Other tests of this package test the checks.
func TestRepository(t *testing.T) {
	root := os.DirFS(workspace)
	files, err := imports.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	report(t, "rules", imports.Check(files, imports.Rules))
	report(t, "constructs", imports.CheckConstructs(files))
}

func TestNoMachinePaths(t *testing.T) {
	here, err := filepath.Abs(workspace)
	if err != nil {
		t.Fatal(err)
	}
	found, err := imports.CheckPlaces(os.DirFS(workspace), here)
	if err != nil {
		t.Fatal(err)
	}
	report(t, "places", found)
}

func report(t *testing.T, name string, found []imports.Violation) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		for _, v := range found {
			t.Error(v)
		}
	})
}
