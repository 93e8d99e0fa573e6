package main

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/explain"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// A11: every code, word and exit code is explained, and nothing is that no longer exists.
func TestEveryCodeIsExplained(t *testing.T) {
	want := map[string]bool{}
	for _, word := range matched(t, "../../plugin-sdk/failure/failure.go", regexp.MustCompile(`Kind += "([a-z_]+)"`)) {
		want[word] = true
	}
	codes := regexp.MustCompile(`"((?:ACODE|AP)-[A-Z]+-[0-9]{3})"`)
	for _, dir := range []string{"../../kernel", "../../plugin-sdk", "../../plugins", "."} {
		err := filepath.WalkDir(dir, func(file string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(file) == ".go" && !strings.HasSuffix(file, "_test.go") {
				for _, code := range matched(t, file, codes) {
					want[code] = true
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, word := range []string{wordUsage, wordCompile, wordNotFound} {
		want[word] = true
	}
	for _, row := range sentinels {
		want[row.word] = true
	}
	for _, row := range exits {
		want[strconv.Itoa(int(row.code))] = true
		e, _ := explain.Find(strconv.Itoa(int(row.code)))
		if e.Title != row.when {
			t.Errorf("exit code %d is %q, and help exit-codes says %q", row.code, e.Title, row.when)
		}
	}
	names := explain.Names()
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(slices.Values(names))); diff != "" {
		t.Errorf("codes that exist (-) and are explained (+):\n%s", diff)
	}
	for _, e := range explain.All() {
		if len(e.Text) < 20 {
			t.Errorf("%s says only %q", e.Name, e.Text)
		}
		if f := failure.Kind(e.Name); f.Code() != "" && !strings.Contains(e.Text, f.Code()) && !strings.Contains(e.Text, "explain ") {
			t.Errorf("%s does not name its code %s", e.Name, f.Code())
		}
	}
}

// matched are the words that a pattern finds in a file.
func matched(t *testing.T, file string, pattern *regexp.Regexp) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, m := range pattern.FindAllStringSubmatch(string(text), -1) {
		found = append(found, m[1])
	}
	return found
}

// The page is what the verb prints (make golden rewrites it).
func TestErrorsPage(t *testing.T) { golden(t, "../../docs/errors.md", explain.Document) }

// Each command that an explanation names is one.
func TestExplanationsNameCommands(t *testing.T) {
	found := regexp.MustCompile("`(?:"+program+" )([^`]+)`").FindAllStringSubmatch(explain.Document, -1)
	if len(found) < 20 {
		t.Fatalf("only %d commands found", len(found))
	}
	for _, m := range found {
		var l line
		parser := newParser(&l, console{getenv: func(string) string { return "" }})
		args := strings.Fields(strings.ReplaceAll(m[1], "'TEXT'", "TEXT"))
		arranged := arrange(parser.Model, args)
		if _, err := parser.Parse(arranged.args); err != nil || arranged.verb == stageCommand {
			t.Errorf("%s: no verb, or not so: %v", m[1], err)
		}
	}
}

func TestExplain(t *testing.T) {
	for _, tt := range []struct {
		line string
		code exit
		want string // in what is printed
	}{
		{"explain AP-YAML-105", exitDone, "AP-YAML-105: an id that cannot be part of a directory name\n\nIds become"},
		{"explain ap-yaml-105", exitDone, "AP-YAML-105: an id"},
		{"explain provider_timeout", exitDone, "provider_timeout\n\nThe provider passed a deadline"},
		{"explain 22", exitDone, "22: paused, because a person is needed"},
		{"explain 22 --json", exitDone, `"name": "22",`},
		{"explain --json", exitDone, `"name": "AP-YAML-413",`},
		{"explain", exitDone, "\nAP-YAML-003          a tab in the indentation\n"},
		{"explain AP-YAML-15", exitUsage, "'AP-YAML-15' is no code of an error\n  did you mean AP-YAML-105? `agent-pipelines explain` lists all of them"},
		{"explain bogus", exitUsage, "'bogus' is no code of an error\n  `agent-pipelines explain` lists all of them"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			var out bytes.Buffer
			code := run(context.Background(), strings.Fields(tt.line), console{stdout: &out, stderr: &out, getenv: func(string) string { return "" }})
			if code != tt.code || !strings.Contains(out.String(), tt.want) {
				t.Errorf("exit code %d, want %d with %q in:\n%s", code, tt.code, tt.want, out.String())
			}
		})
	}
}
