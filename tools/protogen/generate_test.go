package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGeneratedCodeIsFresh generates the code of the real protocol.
func TestGeneratedCodeIsFresh(t *testing.T) {
	root, err := repositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	files, err := generate(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 3 {
		t.Fatalf("got %d files, want the messages and the services in Go, and the messages in Python", len(files))
	}
	if err := compare(root, files); err != nil {
		t.Error(err)
	}
}

func TestWriteAndCompare(t *testing.T) {
	root := t.TempDir()
	files := []generated{{path: filepath.Join("a", "b.go"), content: []byte("package b\n")}}
	if err := compare(root, files); !os.IsNotExist(unwrap(err)) {
		t.Errorf("missing file: got %v", err)
	}
	if err := write(root, files); err != nil {
		t.Fatal(err)
	}
	if err := compare(root, files); err != nil {
		t.Errorf("written and compared: %v", err)
	}
	files[0].content = []byte("package c\n")
	if err := compare(root, files); err == nil || !strings.Contains(err.Error(), "a/b.go is stale") {
		t.Errorf("stale file: got %v", err)
	}
}

// unwrap returns the only error of a joined one.
func unwrap(err error) error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok && len(joined.Unwrap()) == 1 {
		return joined.Unwrap()[0]
	}
	return err
}
