package testkit

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// OK ends the test if there is an error.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Equal reports the difference between the wanted and the actual value; the test continues.
func Equal[T any](t testing.TB, want, got T, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Fails fails the test unless err is an error that contains the text; the test continues.
func Fails(t testing.TB, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("got error %v, want one with %q", err, text)
	}
}

// Error returns the error of a call that also has a value.
func Error[T any](_ T, err error) error { return err }

// Session creates a session in the project at root, and closes both at the end of the test.
func Session(t testing.TB, root, name string) (*store.Project, *store.Dir) {
	t.Helper()
	project, err := store.OpenProject(root)
	OK(t, err)
	dir, err := project.Create(name)
	OK(t, err)
	t.Cleanup(func() { _, _ = dir.Close(), project.Close() })
	return project, dir
}

// Must returns a value, and panics if there is an error.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
