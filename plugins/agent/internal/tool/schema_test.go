package tool_test

import (
	"slices"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/tool"
)

// TestContracts: U166, U167, U170: every tool has schemas. A result fits the schema of its tool or is a failure; a
// failure has a code and a message.
func TestContracts(t *testing.T) {
	calls := []struct {
		name                   string
		good, failing, outside map[string]any
	}{
		{"read_file", map[string]any{"path": "a.txt", "offset": 2}, map[string]any{"path": "none"}, map[string]any{"path": "../x"}},
		{"write_file", map[string]any{"path": "new", "content": "x"}, map[string]any{"path": "dir", "content": "x"}, map[string]any{"path": "../x", "content": ""}},
		{"modify_file", map[string]any{"path": "a.txt", "edits": edits("two", "2")}, map[string]any{"path": "a.txt", "diff": "nonsense"}, map[string]any{"path": "../x", "diff": "x"}},
		{"delete_file", map[string]any{"path": "b.txt"}, map[string]any{"paths": []string{"dir"}}, map[string]any{"path": "../x"}},
		{"create_directory", map[string]any{"path": "d/e"}, map[string]any{"path": "c.txt"}, map[string]any{"path": "../x"}},
		{"list_directory", map[string]any{"recursive": true}, map[string]any{"path": "c.txt"}, map[string]any{"path": ".."}},
		{"search_code", map[string]any{"pattern": "one", "limit": 1}, map[string]any{"pattern": "x", "path": "none"}, map[string]any{"pattern": "x", "path": ".."}},
		{"run_terminal", map[string]any{"command": "git status"}, map[string]any{"command": "cargo build"}, map[string]any{"command": "git status", "dir": ".."}},
	}
	b := newBench(t, func(b *bench, o *tool.Options) { o.Environ = []string{"PATH=" + b.bin} })
	b.program("git", "echo clean")
	for _, name := range []string{"a.txt", "b.txt", "c.txt", "dir/d.txt"} {
		b.put(name, "one\ntwo\nthree\n")
	}
	var names, want []string
	for _, d := range b.set.Definitions() {
		names = append(names, d.Name)
	}
	for _, c := range calls {
		want = append(want, c.name)
		for _, try := range []struct {
			args   map[string]any
			status sdk.ToolStatus
			code   string
		}{
			{c.good, sdk.ToolSuccess, ""},
			{c.failing, sdk.ToolError, tool.CodeFailed},
			{c.outside, sdk.ToolDenied, tool.CodeSandbox},
			{map[string]any{"nonsense": 1}, sdk.ToolError, tool.CodeParameters},
		} {
			if r := b.run(c.name, try.args); r.Status != try.status || r.Code != try.code || (r.message == "") != (try.code == "") {
				t.Errorf("%s %v: %s %s", c.name, try.args, r.Status, r.Data)
			}
		}
	}
	if !slices.Equal(want, names) {
		t.Errorf("tools %v, want %v", names, want)
	}
}
