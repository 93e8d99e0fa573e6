package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// A skill has front matter by the rules of agentskills.io, and is short, because agents load all of it. TestDocs runs its
// commands.
func TestSkill(t *testing.T) {
	files, err := filepath.Glob("../../skills/*/SKILL.md")
	require(t, err == nil && len(files) != 0, err)
	for _, file := range files {
		text := must(os.ReadFile(file))
		front, body, found := strings.Cut(strings.TrimPrefix(string(text), "---\n"), "\n---\n")
		require(t, found && strings.HasPrefix(string(text), "---\n"), file)
		fields := map[string]string{}
		for line := range strings.Lines(front) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			fields[key] = value
		}
		name := fields["name"]
		require(t, name == filepath.Base(filepath.Dir(file)) && len(name) <= 64 && regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(name), file, name)
		for key, most := range map[string]int{"description": 1024, "compatibility": 500} {
			if n := utf8.RuneCountInString(fields[key]); n == 0 || n > most || strings.Contains(fields[key], ": ") {
				t.Errorf("%s: %s has %d characters, or a colon that YAML takes for a key", file, key, n)
			}
		}
		for key := range fields {
			require(t, regexp.MustCompile(`^(name|description|license|compatibility|metadata|allowed-tools)$`).MatchString(key), file, key)
		}
		n := strings.Count(body, "\n")
		require(t, n <= 500, file, n)
	}
}
