package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// U260: `plugins info` prints the bundled plugins as text and as JSON.
func TestPluginInfo(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude", "codex", "judge", "mock"} {
		t.Run(name, func(t *testing.T) {
			golden(t, filepath.Join("testdata", "plugins", name+".txt"), constant(ask(t, "plugins", "info", name)))
			golden(t, filepath.Join("testdata", "plugins", name+".json"), constant(withoutSchemas(t, ask(t, "plugins", "info", name, "--json"))))
		})
	}
}

// ask runs the built command in an empty directory, with an empty home and 80 columns, and returns its output.
func ask(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "bin", "agent-pipelines"), args...)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "COLUMNS=80"}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return string(out)
}

// constant replaces the parts of a text that differ between builds.
func constant(text string) string {
	text = strings.ReplaceAll(text, programs, "<dir>")
	return regexp.MustCompile(`\b[0-9a-f]{64}\b`).ReplaceAllString(text, "<digest>")
}

// withoutSchemas returns a report with the titles of the schemas in place of the schemas, which are files of the plugins.
func withoutSchemas(t *testing.T, text string) string {
	t.Helper()
	var report map[string]any
	check(t, json.Unmarshal([]byte(text), &report))
	for _, c := range report["components"].([]any) {
		component := c.(map[string]any)
		component["config_schema"] = component["config_schema"].(map[string]any)["title"]
	}
	short := must(json.MarshalIndent(report, "", "  "))
	return string(short) + "\n"
}
