package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// A plugin's text cannot move the cursor, and a missing text leaves no gap.
func TestInfoPageOfUntrustedPlugin(t *testing.T) {
	var out bytes.Buffer
	InfoPage{To: &out, Width: 40}.Plugin(document.Plugin{
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
  It describes no settings.
`
	compare(t, strings.ReplaceAll(want, "~", "`"), out.String())
}
