package question_test

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

// put writes a resolution like a user.
func put(t *testing.T, d *store.Dir, id, text string) {
	t.Helper()
	name := d.Abs(store.ResolutionFile(id))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
