package acp

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	protocol "github.com/coder/acp-go-sdk"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// TestCategories: U175: a call has its kind, files and command as reported by the agent, so that a policy can judge it.
func TestCategories(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct {
		name    string
		tool    toolState
		want    sdk.Category
		paths   []string
		command string
	}{
		{"read", toolState{kind: protocol.ToolKindRead, paths: []string{dir + "/a.go"}}, "file_read", []string{"a.go"}, ""},
		{"search", toolState{kind: protocol.ToolKindSearch, input: json.RawMessage(`{"path":"src","pattern":7}`)}, "file_read", []string{"src"}, ""},
		{
			"edit", toolState{
				kind: protocol.ToolKindEdit, paths: []string{dir + "/a.go"}, input: json.RawMessage(`{"file_path":"` + dir + `/a.go"}`),
				content: []toolContent{{Type: "diff", Path: dir + "/b/c.go"}, {Type: "content"}},
			}, "file_write", []string{"a.go", "b/c.go"}, "",
		},
		{"delete outside", toolState{kind: protocol.ToolKindDelete, paths: []string{"/etc/passwd"}}, "file_delete", []string{"/etc/passwd"}, ""},
		{"move", toolState{kind: protocol.ToolKindMove, paths: []string{"a", "b"}}, "file_write", []string{"a", "b"}, ""},
		{"execute", toolState{kind: protocol.ToolKindExecute, title: "Run the tests", input: json.RawMessage(`{"command":"go test ./..."}`)}, "terminal_command", nil, "go test ./..."},
		{"execute, with a list", toolState{kind: protocol.ToolKindExecute, input: json.RawMessage(`{"command":["go","test"]}`)}, "terminal_command", nil, "go test"},
		{"execute, by its title", toolState{kind: protocol.ToolKindExecute, title: "rm -r old"}, "terminal_command", nil, "rm -r old"},
		{"fetch", toolState{kind: protocol.ToolKindFetch}, "external_request", nil, ""},
		{"think", toolState{kind: protocol.ToolKindThink}, "", nil, ""},
		{"no kind", toolState{input: json.RawMessage(`[]`)}, "", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := tt.tool.call("t1", dir)
			if diff := cmp.Diff(tt.paths, c.Paths); c.Category != tt.want || c.Command != tt.command || c.Reason != tt.tool.title || diff != "" {
				t.Errorf("%+v: %s", c, diff)
			}
		})
	}
}
