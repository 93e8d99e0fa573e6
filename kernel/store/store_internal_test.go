package store

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Errors of the disk get a fitting hint; other errors stay unchanged.
func TestExplainAdvises(t *testing.T) {
	p := must(OpenProject(t.TempDir()))
	t.Cleanup(func() { _ = p.Close() })
	tests := map[string]struct {
		err  error
		hint string
	}{
		"no space left":  {syscall.ENOSPC, "free some space, then continue"},
		"quota used up":  {syscall.EDQUOT, "free some space within your quota, then continue"},
		"read-only":      {syscall.EROFS, "sessions need a .claude folder that can be written"},
		"not permitted":  {syscall.EACCES, "sessions need a .claude folder that can be written"},
		"a bad disk":     {syscall.EIO, "the disk fails: check the system's log, then continue"},
		"descriptors":    {syscall.EMFILE, "raise the limit of open files (ulimit -n), then continue"},
		"something else": {syscall.ENOTDIR, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := p.wrapError("write x", &fs.PathError{Op: "write", Path: "x", Err: tt.err})
			if !errors.Is(got, tt.err) || failure.From(got).Hint != tt.hint {
				t.Errorf("explained as %v with hint %q, want hint %q", got, failure.From(got).Hint, tt.hint)
			}
			if _, system := failure.SystemHint(tt.err); system && failure.KindOf(got) != failure.StateCorrupt {
				t.Errorf("kind %s", failure.KindOf(got))
			}
			if want := "write x: write " + p.Abs("x") + ": " + tt.err.Error(); got.Error() != want {
				t.Errorf("message %q, want %q", got, want)
			}
		})
	}
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
