package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
)

// Every visible verb has examples in its help, and the command parses each of them.
func TestHelpExamples(t *testing.T) {
	t.Parallel()
	var walk func(node *kong.Node, words string)
	walk = func(node *kong.Node, words string) {
		for _, child := range node.Children {
			path := strings.TrimSpace(words + " " + child.Name)
			if child.Hidden || child.Name == cli.StageCommand {
				continue
			}
			lines := parseExamples(child.Detail)
			if len(lines) == 0 {
				t.Errorf("the help of %s has no examples", path)
			}
			for _, line := range lines {
				understood(t, line)
			}
			walk(child, path)
		}
	}
	walk(newTestParser().Model.Node, "")
	for path := range helpExamples {
		if _, err := kong.Trace(newTestParser(), strings.Fields(path)); err != nil {
			t.Errorf("there are examples of %q: %v", path, err)
		}
	}
}

func newTestParser() *kong.Kong {
	return newParser(cli.Console{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}, Getenv: func(string) string { return "" }})
}

// parseExamples returns the lines below "Examples:".
func parseExamples(detail string) []string {
	var lines []string
	_, after, _ := strings.Cut(detail, "Examples:\n")
	for line := range strings.Lines(after) {
		if words, ok := strings.CutPrefix(strings.TrimSpace(line), cli.Program+" "); ok {
			lines = append(lines, words)
		}
	}
	return lines
}

// understood parses a command line without running it.
func understood(t *testing.T, line string) {
	t.Helper()
	p := newTestParser()
	if _, err := p.Parse(arrange(p.Model, shellWords(line)).args); err != nil {
		t.Errorf("%s %s: %v", cli.Program, line, err)
	}
}
