package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// U154: docs/stages.md leads from nothing to a stage of one's own in a shipped pipeline, without Go: what it says to write is
// written, and every one of its commands is run, in order.
func TestStagesPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/stages.md")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	yaml, markdown, json := blocks(page, "yaml"), blocks(page, "markdown"), blocks(page, "json")
	commands := blocks(page, "sh")
	if len(yaml) != 3 || len(markdown) != 1 || len(json) != 1 || len(commands) != 5 {
		t.Fatalf("the page has %d blocks of yaml, %d of markdown, %d of json and %d of commands", len(yaml), len(markdown), len(json), len(commands))
	}
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	edits := []func(){
		nil,
		func() {
			write(".claude/stages/threats/schema.yaml", yaml[0])
			write(".claude/stages/threats/prompt.md", markdown[0])
		},
		nil,
		func() {
			file := filepath.Join(root, ".claude/pipelines/careful.yaml")
			text, err := os.ReadFile(file)
			const before = "\n  - id: red\n"
			if err != nil || strings.Count(string(text), before) != 1 {
				t.Fatalf("the copy has no place for the node: %v", err)
			}
			write(".claude/pipelines/careful.yaml", strings.Replace(string(text), before, "\n"+yaml[1]+before, 1))
		},
		func() {
			write("spec.yaml", yaml[2])
			write("mock.json", json[0])
		},
	}
	said := make([]string, len(commands))
	for i, lines := range commands {
		if edits[i] != nil {
			edits[i]()
		}
		code, output := shell(t, root, "set -ex; "+lines)
		if said[i] = output; code != 0 {
			t.Fatalf("exit %d of\n%s\n%s", code, lines, output)
		}
	}
	for i, want := range []string{0: "schema.yaml", 1: "[PASS]", 2: "careful.yaml", 3: "[PASS]", 4: "Passwords are tried one after the other."} {
		if !strings.Contains(said[i], want) {
			t.Errorf("the block\n%s\ndoes not lead to %q:\n%s", commands[i], want, said[i])
		}
	}
	for _, want := range []string{"Heal 1/1", "title: a login page", "threat_model"} { // asked for again, carried, of the type
		if !strings.Contains(said[4], want) {
			t.Errorf("the last block does not show %q:\n%s", want, said[4])
		}
	}
	journal, err := os.ReadFile(filepath.Join(root, ".claude/pipeline-runs/try/events.jsonl"))
	if err != nil || !strings.Contains(string(journal), `{"path":"$.spec_id","code":"VAL-001"`) {
		t.Errorf("the agent was not told what was missing: %v\n%s", err, journal)
	}
}

// blocks are the fenced blocks of a language.
func blocks(text []byte, language string) []string {
	var all []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(text, -1) {
		all = append(all, string(m[1]))
	}
	return all
}
