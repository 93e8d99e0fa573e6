package rundir_test

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/rundir"
)

// openDir makes a project with one session.
func openDir(t *testing.T, session string) (*rundir.Project, *rundir.Dir) {
	t.Helper()
	p, err := rundir.OpenProject(t.TempDir())
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
