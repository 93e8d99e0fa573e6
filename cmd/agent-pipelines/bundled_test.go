package main

import (
	"path/filepath"
	"testing"
)

// `go install` of the command brings every plugin of the repository.
func TestEveryPluginIsCarried(t *testing.T) {
	modules := must(filepath.Glob("../../plugins/*/go.mod"))
	var want, got []string
	for _, m := range modules {
		want = append(want, filepath.Base(filepath.Dir(m)))
	}
	for _, b := range bundled {
		got = append(got, b.Name)
		compare(t, b.Name, b.Plugin("1.2.3").Name)
	}
	compare(t, want, got)
}
