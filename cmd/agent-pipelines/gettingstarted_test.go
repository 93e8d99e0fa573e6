package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/gallery"
)

// docs/getting-started.md: every command of it, in order, in an empty directory, and its table of the gallery. U290, U291.
func TestGettingStarted(t *testing.T) {
	page, err := os.ReadFile("../../docs/getting-started.md")
	if err != nil {
		t.Fatal(err)
	}
	home, dir := t.TempDir(), t.TempDir()
	all := blocks(page, "sh")
	if len(all) != 6 {
		t.Fatalf("the page has %d blocks of commands", len(all))
	}
	said := make([]string, len(all))
	for i, lines := range all {
		said[i] = bare(t, home, dir, "set -e; "+lines)
	}
	for i, want := range []string{"Wrote into", "[PASS] All checks passed", "completed", "Runs by provider mock can start.", "judged-loop", "PIPELINE COMPLETE"} {
		if !strings.Contains(said[i], want) {
			t.Errorf("the block\n%s\ndoes not lead to %q:\n%s", all[i], want, said[i])
		}
	}
	var want, got strings.Builder
	for _, e := range gallery.Examples() {
		want.WriteString("| `" + e.Name + "` | " + e.Shows + " |\n")
	}
	_, table, _ := strings.Cut(string(page), "| example | shows |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	got.WriteString(table + "\n")
	if diff := cmp.Diff(want.String(), got.String()); diff != "" {
		t.Error(diff)
	}
}
