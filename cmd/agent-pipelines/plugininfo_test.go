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

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// U260: what our plugins can, as `plugins info` shows it, to people and to programs.
func TestPluginInfo(t *testing.T) {
	for _, name := range []string{"claude", "codex", "judge", "mock"} {
		t.Run(name, func(t *testing.T) {
			golden(t, filepath.Join("testdata", "plugins", name+".txt"), constant(ask(t, "plugins", "info", name)))
			golden(t, filepath.Join("testdata", "plugins", name+".json"), constant(withoutSchemas(t, ask(t, "plugins", "info", name, "--json"))))
		})
	}
}

// A plugin's words cannot move the cursor, and what it leaves out leaves no gap.
func TestPluginInfoOfAStranger(t *testing.T) {
	var out bytes.Buffer
	cli.InfoPage{To: &out, Width: 40}.Plugin(cli.PluginReport{
		Name: "odd", Version: "1.0.0", Path: "/p/agent-plugin-odd", Source: "--plugin-dir",
		Components: []sdk.Component{
			{
				Kind: sdk.KindHookAction, Name: "odd", Summary: "a\x1b[2Jb\r\nc",
				ConfigSchema: json.RawMessage(`{"required": ["\u001b[1m"], "properties": {"\u001b[1m": {"type": "string", "description": "x\u0007y"}}}`),
			},
			{Kind: sdk.KindTermination, Name: "free", ConfigSchema: json.RawMessage(`true`), Concurrency: sdk.ConcurrencySerial},
			{Kind: sdk.KindTermination, Name: "none"},
		},
	})
	want := `Plugin: odd 1.0.0
Path:   /p/agent-plugin-odd
Source: --plugin-dir

hook action odd
  a [2Jb c
  Concurrency:  calls overlap
  Capabilities: none
  Asks for:     nothing
  Settings:
    [1m: string, required
      x y
  Their JSON Schema is in
  ~agent-pipelines plugins info odd
  --json~.

termination free
  Concurrency:  one call at a time
  Capabilities: none
  Asks for:     nothing
  Its JSON Schema names no settings.

termination none
  Concurrency:  calls overlap
  Capabilities: none
  Asks for:     nothing
  It tells nothing of settings.
`
	if diff := cmp.Diff(strings.ReplaceAll(want, "~", "`"), out.String()); diff != "" {
		t.Error(diff)
	}
}

// ask runs the command as it was built, at home nowhere and 80 columns wide.
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

// constant takes out what differs from build to build.
func constant(text string) string {
	text = strings.ReplaceAll(text, programs, "<dir>")
	return regexp.MustCompile(`\b[0-9a-f]{64}\b`).ReplaceAllString(text, "<digest>")
}

// withoutSchemas is a report whose schemas are told by their titles: they are files of the plugins.
func withoutSchemas(t *testing.T, text string) string {
	t.Helper()
	var report map[string]any
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatal(err)
	}
	for _, c := range report["components"].([]any) {
		component := c.(map[string]any)
		component["config_schema"] = component["config_schema"].(map[string]any)["title"]
	}
	short, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(short) + "\n"
}
