package main

import (
	"os"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/gallery"
)

// U290, U291: docs/getting-started.md has the table of the gallery that `init --list` prints.
func TestGettingStarted(t *testing.T) {
	page := must(os.ReadFile("../../docs/getting-started.md"))
	var want, got strings.Builder
	for _, e := range gallery.Examples() {
		want.WriteString("| `" + e.Name + "` | " + e.Shows + " |\n")
	}
	_, table, _ := strings.Cut(string(page), "| example | shows |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	got.WriteString(table + "\n")
	compare(t, want.String(), got.String())
}
