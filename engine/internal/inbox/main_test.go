package inbox_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openDir makes a session in a project of its own.
func openDir(t *testing.T) *store.Dir {
	t.Helper()
	p, err := store.OpenProject(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	d, err := p.Create("auth")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// put writes a file into the inbox as a stranger does.
func put(t *testing.T, d *store.Dir, name, text string) {
	t.Helper()
	if err := d.Mkdir(store.InboxDir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Abs(store.InboxDir), name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// names lists a directory of the session.
func names(t *testing.T, d *store.Dir, dir string) []string {
	t.Helper()
	entries, err := d.Entries(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		if !e.IsDir() {
			all = append(all, e.Name())
		}
	}
	return all
}
