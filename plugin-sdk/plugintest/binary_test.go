package plugintest_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/plugintest"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify"
)

// The guide's example plugin is built with the go command and passes every row that is applicable to it.
func TestBinary(t *testing.T) {
	t.Run("of the guide", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "agent-plugin-echo")
		if os.Getenv("AGENT_PIPELINES_VERIFY_HOST") == "" {
			build := exec.Command("go", "build", "-o", path, "../example/echo")
			build.Stderr = os.Stderr
			if err := build.Run(); err != nil {
				t.Fatal(err)
			}
		}
		rows := map[string]verify.Result{}
		plugintest.Binary(t, path, verify.Options{
			OnRow: func(r verify.Row) { rows[r.ID] = r.Result },
			Cases: verify.Cases{Providers: map[string]verify.ProviderCases{"echo": {
				Free:    true,
				Normal:  &verify.Attempt{Prompt: "hello"},
				Slow:    &verify.Attempt{Prompt: "hello", Config: json.RawMessage(`{"delay_ms": 600000}`)},
				Refused: []json.RawMessage{json.RawMessage(`{"delay_ms": "long"}`)},
			}}},
		})
		for _, id := range []string{"success", "cancel", "heartbeat", "config", "parent-death", "leak"} {
			if id == "leak" && rows[id] == verify.NotApplicable { // only available on Linux
				continue
			}
			if rows[id] != verify.Pass {
				t.Errorf("%s: %q, want it tried and passed", id, rows[id])
			}
		}
	})
}
