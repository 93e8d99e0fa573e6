package characterise

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
)

var (
	binFlag    = flag.String("characterise.bin", "", "directory that holds agent-pipelines and plugins/; without it TestCharacterise is skipped")
	recordFlag = flag.Bool("characterise.record", false, "rewrite the records instead of comparing with them")
)

// maxDiffLines bounds the difference that a failing case prints.
const maxDiffLines = 80

// cacheDir is the directory below the root where the command caches the descriptions of plugins, for all cases.
const cacheDir = "cache"

// TestCharacterise plays each case and compares its record. Run it with `make characterise`.
func TestCharacterise(t *testing.T) {
	if *binFlag == "" {
		t.Skip("no command to run: use make characterise")
	}
	cases, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("find cases: %d found, error %v", len(cases), err)
	}
	root := newRoot(t)
	if err := os.CopyFS(filepath.Join(root, "bin"), os.DirFS(*binFlag)); err != nil {
		t.Fatalf("provide the command (run make build first): %v", err)
	}
	// One cache for all cases: where cases describe all plugins side by side, the command warns that a plugin is slow.
	describe := exec.Command(filepath.Join(root, "bin/agent-pipelines"), "plugins", "list")
	describe.Dir, describe.Env = root, []string{"PATH=/usr/bin:/bin", "HOME=" + root, "XDG_CACHE_HOME=" + filepath.Join(root, cacheDir)}
	if out, err := describe.CombinedOutput(); err != nil {
		t.Fatalf("describe the plugins: %v\n%s", err, out)
	}
	records := map[string]bool{}
	for _, file := range cases {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		records[name+".txt"] = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := playCase(t, root, name, file)
			compareRecord(t, filepath.Join("testdata/records", name+".txt"), got)
		})
	}
	removeStaleRecords(t, records)
}

// newRoot creates the directory below which all cases run. The length of its path is constant, because the command
// wraps lines that contain paths.
func newRoot(t *testing.T) string {
	t.Helper()
	suffix := make([]byte, 4)
	rand.Read(suffix)
	root := "/tmp/apc-" + hex.EncodeToString(suffix)
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	return root
}

// compareRecord fails with a unified difference if the record on disk differs. With -characterise.record it rewrites
// the record instead.
func compareRecord(t *testing.T, file string, got []byte) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	if *recordFlag {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	lines := strings.SplitAfter(string(diff.Diff("recorded", want, "now", got)), "\n")
	if len(lines) > maxDiffLines {
		lines = append(lines[:maxDiffLines], "...\n")
	}
	t.Errorf("behaviour differs from %s:\n%s\nIf the change is intended, run make characterise-record and review the diff.", file, strings.Join(lines, ""))
}

// removeStaleRecords reports records without a case, and removes them with -characterise.record.
func removeStaleRecords(t *testing.T, known map[string]bool) {
	t.Helper()
	entries, err := os.ReadDir("testdata/records")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		file := filepath.Join("testdata/records", entry.Name())
		switch {
		case known[entry.Name()]:
		case *recordFlag:
			if err := os.Remove(file); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s belongs to no case: remove it, or run make characterise-record", file)
		}
	}
}
