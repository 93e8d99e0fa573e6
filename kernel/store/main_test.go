package store_test

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// openDir makes a project with one session.
func openDir(t *testing.T, session string) (*store.Project, *store.Dir) {
	t.Helper()
	p, err := store.OpenProject(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	d, err := p.Create(session)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return p, d
}
