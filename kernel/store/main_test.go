package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// openDir makes a project with one session.
func openDir(t *testing.T, session string) (*store.Project, *store.Dir) {
	t.Helper()
	p := must(store.OpenProject(t.TempDir()))
	t.Cleanup(func() { _ = p.Close() })
	d := must(p.Create(session))
	t.Cleanup(func() { _ = d.Close() })
	return p, d
}

// must returns v, or panics with err.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// check ends the test if err is not nil.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compare reports how got differs from want.
func compare(t testing.TB, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
