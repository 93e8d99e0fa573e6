package tool_test

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/tool"
)

func compile(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("x.json", doc); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("x.json")
}

func valid(t *testing.T, schema *jsonschema.Schema, text []byte) error {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(doc)
}

// TestResultsFitTheirSchemas: U166, U167, U170: every tool has schemas, and its results and failures fit them.
func TestResultsFitTheirSchemas(t *testing.T) {
	failure, err := os.ReadFile("testdata/error.json")
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]struct{ good, failing, outside map[string]any }{
		"read_file":        {good: map[string]any{"path": "a.txt", "offset": 2}, failing: map[string]any{"path": "none"}, outside: map[string]any{"path": "../x"}},
		"write_file":       {good: map[string]any{"path": "new", "content": "x"}, failing: map[string]any{"path": "dir", "content": "x"}, outside: map[string]any{"path": "../x", "content": ""}},
		"modify_file":      {good: map[string]any{"path": "a.txt", "edits": []any{map[string]any{"old": "two", "new": "2"}}}, failing: map[string]any{"path": "a.txt", "diff": "nonsense"}, outside: map[string]any{"path": "../x", "diff": "x"}},
		"delete_file":      {good: map[string]any{"path": "b.txt"}, failing: map[string]any{"paths": []string{"dir"}}, outside: map[string]any{"path": "../x"}},
		"create_directory": {good: map[string]any{"path": "d/e"}, failing: map[string]any{"path": "c.txt"}, outside: map[string]any{"path": "../x"}},
		"list_directory":   {good: map[string]any{"recursive": true}, failing: map[string]any{"path": "c.txt"}, outside: map[string]any{"path": ".."}},
		"search_code":      {good: map[string]any{"pattern": "one", "limit": 1}, failing: map[string]any{"pattern": "x", "path": "none"}, outside: map[string]any{"pattern": "x", "path": ".."}},
		"run_terminal":     {good: map[string]any{"command": "git status"}, failing: map[string]any{"command": "cargo build"}, outside: map[string]any{"command": "git status", "dir": ".."}},
	}
	b := newBench(t, func(b *bench, o *tool.Options) { o.Environ = []string{"PATH=" + b.bin} })
	b.program("git", "echo clean")
	for _, name := range []string{"a.txt", "b.txt", "c.txt", "dir/d.txt"} {
		b.put(name, "one\ntwo\nthree\n")
	}
	var names []string
	for _, d := range b.set.Definitions() {
		names = append(names, d.Name)
		c, ok := calls[d.Name]
		if !ok {
			t.Errorf("the test knows no call of %s", d.Name)
			continue
		}
		compile(t, d.Parameters)
		if r := b.run(d.Name, c.good); r.Status != sdk.ToolSuccess || r.Code != "" {
			t.Errorf("%s: %s %s %s", d.Name, r.Status, r.Code, r.Data)
		} else if err := valid(t, compile(t, d.Result), r.Data); err != nil {
			t.Errorf("%s returned %s: %v", d.Name, r.Data, err)
		}
		if r := b.run(d.Name, c.failing); r.Status != sdk.ToolError || r.Code != tool.CodeFailed || valid(t, compile(t, failure), r.Data) != nil {
			t.Errorf("%s failing: %s %s %s", d.Name, r.Status, r.Code, r.Data)
		}
		if r := b.run(d.Name, c.outside); r.Status != sdk.ToolDenied || r.Code != tool.CodeSandbox || valid(t, compile(t, failure), r.Data) != nil {
			t.Errorf("%s outside: %s %s %s", d.Name, r.Status, r.Code, r.Data)
		}
		if r := b.run(d.Name, map[string]any{"nonsense": 1}); r.Status != sdk.ToolError || r.Code != tool.CodeParameters || valid(t, compile(t, failure), r.Data) != nil {
			t.Errorf("%s with nonsense: %s %s %s", d.Name, r.Status, r.Code, r.Data)
		}
	}
	if want := []string{"read_file", "write_file", "modify_file", "delete_file", "create_directory", "list_directory", "search_code", "run_terminal"}; !slices.Equal(want, names) {
		t.Errorf("tools %v, want %v", names, want)
	}
}
