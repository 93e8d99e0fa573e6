package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/tool"
)

type readData struct {
	Content   string
	Lines     int
	Unchanged bool
	Truncated *struct{ Lines, Chars int }
}

// TestRead: U171: a file is read completely or in part.
func TestRead(t *testing.T) {
	b := newBench(t, nil)
	b.put("a.txt", "one\ntwo\nthree\n")
	b.put("empty", "")
	b.put("no-end", "one\r\ntwo")
	b.put("latin", "caf\xe9\n")
	b.put("binary", "a\x00b")
	b.put("markup", "<a href=\"x\">&</a>\n")
	if err := syscall.Mkfifo(filepath.Join(b.root, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		call map[string]any
		want readData
	}{
		{map[string]any{"path": "a.txt"}, readData{Content: "one\ntwo\nthree\n", Lines: 3}},
		{map[string]any{"path": "a.txt", "offset": 2}, readData{Content: "two\nthree\n", Lines: 3}},
		{map[string]any{"path": "a.txt", "offset": 2, "limit": 1}, readData{Content: "two", Lines: 3}},
		{map[string]any{"path": "a.txt", "limit": 99}, readData{Content: "one\ntwo\nthree\n", Lines: 3}},
		{map[string]any{"path": "empty"}, readData{}},
		{map[string]any{"path": "no-end"}, readData{Content: "one\r\ntwo", Lines: 2}},
		{map[string]any{"path": "latin"}, readData{Content: "caf\uFFFD\n", Lines: 1}},
	} {
		var got readData
		b.ok("read_file", c.call, &got)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.call, diff)
		}
	}
	if r := b.run("read_file", map[string]any{"path": "markup"}); !strings.Contains(string(r.Data), `<a href=\"x\">&</a>`) {
		t.Errorf("markup is %s", r.Data)
	}
	for path, want := range map[string]string{"none": "there is no none", "binary": "not text", "pipe": "not a regular file", ".": "directory", "a.txt/x": "a.txt/x"} {
		if r := b.run("read_file", map[string]any{"path": path}); r.Status != sdk.ToolError || r.Code != tool.CodeFailed || !strings.Contains(r.message, want) {
			t.Errorf("%s: %s %s", path, r.Status, r.Data)
		}
	}
	if r := b.run("read_file", map[string]any{"path": "a.txt", "offset": 4}); r.Status != sdk.ToolError {
		t.Errorf("beyond the end: %s", r.Data)
	}
}

// TestReadIsCut: U183: a large result loses its middle, and counts the missing part.
func TestReadIsCut(t *testing.T) {
	b := newBench(t, func(_ *bench, o *tool.Options) { o.ResultTokens = 100 })
	var text strings.Builder
	for i := range 1000 {
		text.WriteString("line " + strconv.Itoa(i) + "\n")
	}
	b.put("big", text.String())
	var got readData
	b.ok("read_file", map[string]any{"path": "big"}, &got)
	head, tail, _ := strings.Cut(got.Content, "\n[... ")
	marker, tail, _ := strings.Cut(tail, "\n")
	if !strings.HasPrefix(text.String(), head+"\n") || !strings.HasSuffix(text.String(), tail) || len(head) < 200 || len(head) > 240 || len(tail) < 130 || len(tail) > 160 {
		t.Errorf("head %d, tail %d characters:\n%s", len(head), len(tail), got.Content)
	}
	left := text.Len() - len(head) - 1 - len(tail)
	if got.Truncated == nil || got.Truncated.Chars != left || got.Truncated.Lines != 1000-strings.Count(head+"\n"+tail, "\n") || marker != strconv.Itoa(got.Truncated.Lines)+" lines, "+strconv.Itoa(left)+" characters left out ...]" {
		t.Errorf("truncated %+v, marker %q; %d are left out", got.Truncated, marker, left)
	}
	b.put("wide", strings.Repeat("é", 5000))
	b.ok("read_file", map[string]any{"path": "wide"}, &got)
	if n := strings.Count(got.Content, "é"); n != 200 || got.Truncated.Chars != 4800 {
		t.Errorf("%d characters of one line are left, %+v", n, got.Truncated)
	}
}

// TestReadAgain: U183: a file without changes since a result that the model still has is not sent again.
func TestReadAgain(t *testing.T) {
	b := newBench(t, nil)
	b.put("a.txt", "one\n")
	call := map[string]any{"path": "a.txt"}
	first := b.ok("read_file", call, nil)
	var got readData
	b.ok("read_file", call, &got)
	if got.Unchanged || first.Key == "" {
		t.Errorf("before Keep: %+v, key %q", got, first.Key)
	}
	b.set.Keep([]string{first.Key})
	if r := b.ok("read_file", call, &got); !got.Unchanged || r.Key != first.Key || strings.Contains(string(r.Data), "content") {
		t.Errorf("kept: %s", r.Data)
	}
	for name, change := range map[string]func() map[string]any{
		"another part":              func() map[string]any { return map[string]any{"path": "a.txt", "offset": 1} },
		"a change of the same size": func() map[string]any { b.put("a.txt", "two\n"); return call },
		"out of the window":         func() map[string]any { b.put("a.txt", "one\n"); b.set.Keep(nil); return call },
	} {
		b.put("a.txt", "one\n")
		b.set.Keep([]string{first.Key})
		got = readData{}
		b.ok("read_file", change(), &got)
		if got.Unchanged || got.Content == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestWrite: U171: files are created and replaced as a whole, with the details that a user needs for an approval.
func TestWrite(t *testing.T) {
	b := newBench(t, nil)
	type data struct {
		Path, Status string
		Bytes        int
	}
	write := func(path, content string) (data, callResult) {
		var d data
		r := b.ok("write_file", map[string]any{"path": path, "content": content}, &d)
		return d, r
	}
	got, r := write("./new/dir/a.txt", "one\n")
	if got != (data{"new/dir/a.txt", "created", 4}) || !slices.Equal(r.Changed, []string{"new/dir/a.txt"}) || b.file("new/dir/a.txt") != "one\n" {
		t.Errorf("%+v, changed %v", got, r.Changed)
	}
	if got, r = write("new/dir/a.txt", "one\n"); got.Status != "unchanged" || r.Changed != nil {
		t.Errorf("again: %+v, changed %v", got, r.Changed)
	}
	script := filepath.Join(b.root, "new/dir/a.txt")
	if err := os.Chmod(script, 0o750); err != nil {
		t.Fatal(err)
	}
	if got, _ = write("new/dir/a.txt", "two\n"); got.Status != "overwritten" || b.file(script) != "two\n" {
		t.Errorf("overwritten: %+v", got)
	}
	if info, err := os.Stat(script); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := os.Link(b.canary, filepath.Join(b.root, "hard")); err != nil {
		t.Fatal(err)
	}
	write("hard", "x")
	b.link("new/dir/a.txt", "soft")
	if got, _ = write("soft", "through\n"); got.Path != "new/dir/a.txt" || b.file(script) != "through\n" {
		t.Errorf("through a link: %+v", got)
	}
	b.untouched("soft")
	entries, err := os.ReadDir(filepath.Dir(script))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	for path, want := range map[string]string{".": "workspace itself", "new": "directory", "hard/x": "hard/x"} {
		if r := b.run("write_file", map[string]any{"path": path, "content": "x"}); r.Status != sdk.ToolError || !strings.Contains(r.message, want) {
			t.Errorf("%s: %s", path, r.Data)
		}
	}
	if r := b.run("write_file", map[string]any{"path": "x", "content": strings.Repeat("é", 1<<20-1)}); r.Code != tool.CodeParameters {
		t.Errorf("too long: %s", r.Data)
	}
}

// TestPrepared: U175: each prepared call has its effect, category, paths and preview.
func TestPrepared(t *testing.T) {
	b := newBench(t, nil)
	b.program("git", "")
	b.program("go", "")
	b.put("a.txt", "one\ntwo\n")
	b.link("a.txt", "b.txt")
	for _, c := range []struct {
		name    string
		call    map[string]any
		want    sdk.ToolCall
		preview string
	}{
		{"read_file", map[string]any{"path": "b.txt"}, sdk.ToolCall{Effect: sdk.EffectNone, Category: sdk.CategoryFileRead, Paths: []string{"a.txt"}}, ""},
		{"list_directory", map[string]any{}, sdk.ToolCall{Effect: sdk.EffectNone, Category: sdk.CategoryFileRead, Paths: []string{"."}}, ""},
		{"search_code", map[string]any{"pattern": "x"}, sdk.ToolCall{Effect: sdk.EffectNone, Category: sdk.CategoryFileRead, Paths: []string{"."}}, ""},
		{"write_file", map[string]any{"path": "n", "content": "x\n", "reason": "why"}, sdk.ToolCall{Effect: sdk.EffectIdempotent, Category: sdk.CategoryFileWrite, Paths: []string{"n"}, Reason: "why"}, "new file n, 2 bytes\n\nx\n"},
		{"write_file", map[string]any{"path": "b.txt", "content": "one\n2\n"}, sdk.ToolCall{Effect: sdk.EffectIdempotent, Category: sdk.CategoryFileWrite, Paths: []string{"a.txt"}}, "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"},
		{"modify_file", map[string]any{"path": "a.txt", "edits": []any{map[string]any{"old": "one", "new": "1"}}}, sdk.ToolCall{Effect: sdk.EffectIdempotent, Category: sdk.CategoryFileWrite, Paths: []string{"a.txt"}}, "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n"},
		{"delete_file", map[string]any{"paths": []string{"a.txt", "b.txt"}}, sdk.ToolCall{Effect: sdk.EffectIdempotent, Category: sdk.CategoryFileDelete, Paths: []string{"a.txt", "b.txt"}}, "delete a.txt, 8 bytes\ndelete b.txt, 5 bytes\n"},
		{"create_directory", map[string]any{"path": "d"}, sdk.ToolCall{Effect: sdk.EffectIdempotent, Category: sdk.CategoryDirectoryCreate, Paths: []string{"d"}}, "new directory d"},
		{"run_terminal", map[string]any{"command": "git   'push'", "reason": "r"}, sdk.ToolCall{Effect: sdk.EffectOnce, Category: sdk.CategoryTerminal, Command: "git push", Reason: "r", External: true}, "git push"},
		{"run_command", map[string]any{"command": "go test ./..."}, sdk.ToolCall{Effect: sdk.EffectIdempotent, Category: sdk.CategoryTerminal, Command: "go test ./..."}, "go test ./..."},
	} {
		p := b.prepare(c.name, c.call, false)
		c.want.Tool, c.want.Args, c.want.Preview = strings.Replace(c.name, "command", "terminal", 1), args(c.call), c.preview
		if diff := cmp.Diff(c.want, p.ToolCall); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	p := b.prepare("write_file", map[string]any{"path": "big", "content": strings.Repeat("é", 9000)}, false)
	if len(p.Preview) > sdk.MaxPreview || len(p.Preview) < sdk.MaxPreview-10 {
		t.Errorf("preview of %d bytes", len(p.Preview))
	}
}

// TestParameters: U168, U169: wrong parameters are reported with their place.
func TestParameters(t *testing.T) {
	b := newBench(t, nil)
	for _, c := range []struct{ name, args, want string }{
		{"read_file", `{}`, "'path'"},
		{"read_file", `{"path":""}`, "/path"},
		{"read_file", `{"path":1}`, "/path"},
		{"read_file", `{"path":"x","offset":0}`, "/offset"},
		{"read_file", `{"path":"x","extra":1}`, "'extra'"},
		{"read_file", `[]`, "/"},
		{"read_file", `{"path":`, "JSON"},
		{"read_file", `{"path":"` + strings.Repeat("x", 4097) + `"}`, "/path"},
		{"write_file", `{"path":"x"}`, "'content'"},
		{"modify_file", `{"path":"x"}`, "edits and diff"},
		{"modify_file", `{"path":"x","edits":[],"diff":"x"}`, "/edits"},
		{"modify_file", `{"path":"x","edits":[{"old":"","new":"x"}]}`, "/edits/0/old"},
		{"delete_file", `{}`, "path and paths"},
		{"delete_file", `{"path":"a","paths":["b"]}`, "path and paths"},
		{"search_code", `{"pattern":"("}`, "/pattern"},
		{"search_code", `{"pattern":"x","glob":"["}`, "/glob"},
		{"search_code", `{"pattern":"x","limit":1001}`, "/limit"},
		{"run_terminal", `{"command":"git status","timeout":3601}`, "/timeout"},
		{"run_terminal", `{"command":"git status","timeout":0}`, "/timeout"},
		{"run_terminal", `{"command":"` + strings.Repeat("x", 8193) + `"}`, "/command"},
		{"nothing", `{}`, "read_file"},
		{"read_file", ``, "'path'"},
	} {
		_, r := b.set.Prepare(c.name, json.RawMessage(c.args), false)
		if r == nil || r.Code != tool.CodeParameters || r.Status != sdk.ToolError || !strings.Contains(r.Message, c.want) {
			t.Errorf("%s %.60s: %v", c.name, c.args, r)
		}
	}
}

// TestDelete: U171: files are deleted, each once.
func TestDelete(t *testing.T) {
	b := newBench(t, nil)
	for _, name := range []string{"a", "b", "dir/c"} {
		b.put(name, "x")
	}
	if r := b.run("delete_file", map[string]any{"paths": []string{"a", "none"}}); r.Status != sdk.ToolError || b.file("a") != "x" {
		t.Errorf("one of two is missing: %s", r.Data)
	}
	if r := b.run("delete_file", map[string]any{"path": "dir"}); r.Status != sdk.ToolError {
		t.Errorf("a directory: %s", r.Data)
	}
	r := b.ok("delete_file", map[string]any{"paths": []string{"a", "dir/c"}}, nil)
	if !slices.Equal(r.Changed, []string{"a", "dir/c"}) || string(r.Data) != `{"deleted":["a","dir/c"]}` {
		t.Errorf("%s, changed %v", r.Data, r.Changed)
	}
	p := b.prepare("delete_file", map[string]any{"paths": []string{"a", "b"}}, true)
	if r := p.Run(t.Context()); r.Status != sdk.ToolSuccess || string(r.Data) != `{"deleted":["b"],"missing":["a"]}` {
		t.Errorf("again: %s", r.Data)
	}
}

func TestCreateDirectory(t *testing.T) {
	b := newBench(t, nil)
	b.put("file", "")
	for i, want := range []string{"created", "exists"} {
		var got struct{ Path, Status string }
		if r := b.ok("create_directory", map[string]any{"path": "a/b/"}, &got); got.Status != want || got.Path != "a/b" || len(r.Changed) != 1-i {
			t.Errorf("%+v, changed %v", got, r.Changed)
		}
	}
	b.ok("create_directory", map[string]any{"path": "."}, nil) // the workspace exists
	if r := b.run("create_directory", map[string]any{"path": "file/x"}); r.Status != sdk.ToolError {
		t.Errorf("below a file: %s", r.Data)
	}
}

// TestList: U167: directories are listed, without the files in .git.
func TestList(t *testing.T) {
	b := newBench(t, nil)
	for _, name := range []string{"b.txt", "dir/c.txt", "dir/sub/d.txt", ".git/config"} {
		b.put(name, "1234")
	}
	b.link("/etc", "etc")
	for _, c := range []struct {
		call map[string]any
		want string
	}{
		{map[string]any{}, `{"path":".","entries":[{"path":".git","type":"directory"},{"path":"b.txt","type":"file","bytes":4},{"path":"dir","type":"directory"},{"path":"etc","type":"link"}]}`},
		{map[string]any{"path": "dir", "recursive": true}, `{"path":"dir","entries":[{"path":"dir/c.txt","type":"file","bytes":4},{"path":"dir/sub","type":"directory"},{"path":"dir/sub/d.txt","type":"file","bytes":4}]}`},
		{map[string]any{"recursive": true, "limit": 1}, `{"path":".","entries":[{"path":".git","type":"directory"}],"truncated":{"entries":6}}`},
	} {
		if r := b.ok("list_directory", c.call, nil); string(r.Data) != c.want {
			t.Errorf("%v:\n%s\nwant\n%s", c.call, r.Data, c.want)
		}
	}
	for i := range 150 {
		b.put("many/"+strconv.Itoa(1000+i), "")
	}
	var got struct {
		Entries   []any
		Truncated struct{ Entries int }
	}
	if b.ok("list_directory", map[string]any{"path": "many"}, &got); len(got.Entries) != 100 || got.Truncated.Entries != 50 {
		t.Errorf("%d entries, %d left out", len(got.Entries), got.Truncated.Entries)
	}
}

// TestSearch: U167: the search skips files that are not the project's text.
func TestSearch(t *testing.T) {
	b := newBench(t, func(_ *bench, o *tool.Options) { o.Protected = []string{"Vault/**"} })
	for name, text := range map[string]string{
		"a.go": "package a\nfunc Find() {}\n", "sub/b.go": "// func Find\r\n", "sub/c.txt": "func Find", ".git/x": "func Find", ".claude/pipeline-runs/s/output.md": "func Find", "node_modules/x.js": "func Find", "bin": "\x00func Find", ".env": "func Find", "sub/.env.local": "func Find", "x.pem": "func Find",
		"secrets/x": "func Find", "vault/x": "func Find", ".config/gh/hosts.yml": "func Find", "home/.Docker/config.json": "func Find", ".cargo/credentials.toml": "func Find", ".gitconfig": "func Find", "long": strings.Repeat("y", 1000) + "func Find",
	} {
		b.put(name, text)
	}
	b.link("/etc", "etc")
	for _, c := range []struct {
		call map[string]any
		want string
	}{
		{map[string]any{"pattern": "^func +Find", "glob": "*.go"}, `{"matches":[{"path":"a.go","line":2,"text":"func Find() {}"}],"files":2}`},
		{map[string]any{"pattern": "func Find", "glob": "sub/**"}, `{"matches":[{"path":"sub/b.go","line":1,"text":"// func Find"},{"path":"sub/c.txt","line":1,"text":"func Find"}],"files":2}`},
		{map[string]any{"pattern": "func Find", "path": "sub", "limit": 1}, `{"matches":[{"path":"sub/b.go","line":1,"text":"// func Find"}],"files":2,"truncated":{"entries":1}}`},
		{map[string]any{"pattern": "(?i)FIND", "path": "a.go"}, `{"matches":[{"path":"a.go","line":2,"text":"func Find() {}"}],"files":1}`},
		{map[string]any{"pattern": "y+", "path": "long"}, `{"matches":[{"path":"long","line":1,"text":"` + strings.Repeat("y", 400) + ` [...]"}],"files":1}`},
		{map[string]any{"pattern": "absent"}, `{"matches":[],"files":4}`},
	} {
		if r := b.ok("search_code", c.call, nil); string(r.Data) != c.want {
			t.Errorf("%v:\n%s\nwant\n%s", c.call, r.Data, c.want)
		}
	}
}
