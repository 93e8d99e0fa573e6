package tool_test

import (
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/tool"
)

// BenchmarkCall: U184: the time of a call that reads, writes, lists or searches a file of 50 KB, with its checks.
func BenchmarkCall(b *testing.B) {
	set, err := tool.NewSet(tool.Options{Root: b.TempDir(), Environ: []string{"PATH=/usr/bin"}, Redactor: redact.New(nil).ForAgent()})
	if err != nil {
		b.Fatal(err)
	}
	defer set.Close()
	content := strings.Repeat("a line of a file that an agent works on\n", 1250)
	for _, c := range []struct {
		name, tool string
		args       map[string]any
	}{
		{"write", "write_file", map[string]any{"path": "dir/a.txt", "content": content}},
		{"read", "read_file", map[string]any{"path": "dir/a.txt"}},
		{"list", "list_directory", map[string]any{"recursive": true}},
		{"search", "search_code", map[string]any{"pattern": "works on$"}},
	} {
		call := args(c.args)
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				p, refusal := set.Prepare(c.tool, call, false)
				if refusal != nil {
					b.Fatal(refusal.Message)
				}
				if r := p.Run(b.Context()); r.Status != sdk.ToolSuccess {
					b.Fatalf("%s", r.Data)
				}
			}
		})
	}
}
