package main

import (
	"path/filepath"
	"testing"
)

// Every plugin of the repository is compiled into the command, so that `go install` installs all of them.
func TestEveryPluginIsBundled(t *testing.T) {
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
