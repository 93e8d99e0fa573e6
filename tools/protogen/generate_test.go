package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteAndCompare(t *testing.T) {
	root := t.TempDir()
	files := []generated{{path: filepath.Join("a", "b.go"), content: []byte("package b\n")}}
	if err := compare(root, files); !errors.Is(err, fs.ErrNotExist) {
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
