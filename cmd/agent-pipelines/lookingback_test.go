package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The commands of docs/looking-back.md do what the page says, in its order, with the mock in place of a model.
func TestLookingBackPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/looking-back.md")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	file := filepath.Join(root, ".claude/pipelines/poem.yaml")
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, block(t, page, "yaml"), 0o644)); err != nil {
		t.Fatal(err)
	}
	commands := 0
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, program+" ") {
			continue
		}
		commands++
		if code, text := shell(t, root, line); code != 0 {
			t.Errorf("%s: exit %d\n%s", strings.TrimSpace(line), code, text)
		}
	}
	if commands < 6 {
		t.Errorf("the page has %d commands", commands)
	}
}
