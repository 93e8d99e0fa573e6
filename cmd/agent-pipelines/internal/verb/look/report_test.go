package look

import (
	"errors"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
)

// A named pipe in the place of a session's file is refused without waiting for a writer.
func TestReadWithinRefusesPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "output.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, _, err := readWithin(dir, "output.md", 10); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("readWithin = %q, %v; want an error that wraps fs.ErrInvalid", text, err)
	}
}
