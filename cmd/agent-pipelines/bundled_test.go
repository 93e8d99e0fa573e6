package main

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// `go install` of the command brings every plugin of the repository.
func TestEveryPluginIsCarried(t *testing.T) {
	modules, err := filepath.Glob("../../plugins/*/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range modules {
		want = append(want, filepath.Base(filepath.Dir(m)))
	}
	for _, b := range bundled {
		got = append(got, b.Name)
		if name := b.Plugin("1.2.3").Name; name != b.Name {
			t.Errorf("%s is called %s", b.Name, name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plugins (-repository +carried):\n%s", diff)
	}
}
