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

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/explain"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// A11: every code, error_type and exit code has an explanation, and every explanation has a code.
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
		check(t, err)
	}
	for _, word := range []string{cli.WordUsage, cli.WordCompile, cli.WordNotFound} {
		want[word] = true
	}
	for _, row := range cli.Sentinels {
		want[row.Word] = true
	}
	for _, row := range cli.Exits {
		want[strconv.Itoa(int(row.Code))] = true
		e, _ := explain.Find(strconv.Itoa(int(row.Code)))
		require(t, e.Title == row.When, row.Code, e.Title, row.When)
	}
	names := explain.Names()
	compare(t, slices.Sorted(maps.Keys(want)), slices.Sorted(slices.Values(names)))
	for _, e := range explain.All() {
		require(t, len(e.Text) >= 20, e.Name, e.Text)
		if f := failure.Kind(e.Name); f.Code() != "" && !strings.Contains(e.Text, f.Code()) && !strings.Contains(e.Text, "explain ") {
			t.Errorf("%s does not name its code %s", e.Name, f.Code())
		}
	}
}

// matched returns the first group of each match of a pattern in a file.
func matched(t *testing.T, file string, pattern *regexp.Regexp) []string {
	t.Helper()
	text := must(os.ReadFile(file))
	var found []string
	for _, m := range pattern.FindAllStringSubmatch(string(text), -1) {
		found = append(found, m[1])
	}
	return found
}

// docs/errors.md equals the document of package explain (make golden rewrites the page).
func TestErrorsPage(t *testing.T) { golden(t, "../../docs/errors.md", explain.Document) }

// Every command in an explanation is valid.
func TestExplanationsNameCommands(t *testing.T) {
	found := regexp.MustCompile("`(?:"+cli.Program+" )([^`]+)`").FindAllStringSubmatch(explain.Document, -1)
	require(t, len(found) >= 20, len(found))
	for _, m := range found {
		parser := newParser(cli.Console{Getenv: func(string) string { return "" }})
		args := strings.Fields(strings.ReplaceAll(m[1], "'TEXT'", "TEXT"))
		arranged := arrange(parser.Model, args)
		_, err := parser.Parse(arranged.args)
		require(t, err == nil && arranged.verb != cli.StageCommand, m[1], err)
	}
}

func TestExplain(t *testing.T) {
	for _, tt := range []struct {
		line string
		code cli.Exit
		want string // in the output
	}{
		{"explain AP-YAML-105", cli.ExitDone, "AP-YAML-105: an id that cannot be part of a directory name\n\nIds become"},
		{"explain ap-yaml-105", cli.ExitDone, "AP-YAML-105: an id"},
		{"explain provider_timeout", cli.ExitDone, "provider_timeout\n\nThe provider passed a deadline"},
		{"explain 22", cli.ExitDone, "22: paused, because the user is needed"},
		{"explain 22 --json", cli.ExitDone, `"name": "22",`},
		{"explain --json", cli.ExitDone, `"name": "AP-YAML-413",`},
		{"explain", cli.ExitDone, "\nAP-YAML-003          a tab in the indentation\n"},
		{"explain AP-YAML-15", cli.ExitUsage, "'AP-YAML-15' is not an error code\n  did you mean 'AP-YAML-105'? `agent-pipelines explain` lists all of them"},
		{"explain bogus", cli.ExitUsage, "'bogus' is not an error code\n  `agent-pipelines explain` lists all of them"},
	} {
		t.Run(tt.line, func(t *testing.T) {
			var out bytes.Buffer
			code := execute(context.Background(), strings.Fields(tt.line), cli.Console{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }})
			require(t, code == tt.code && strings.Contains(out.String(), tt.want), code, out.String())
		})
	}
}
