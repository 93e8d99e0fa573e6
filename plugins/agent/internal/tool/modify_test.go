package tool_test

import (
	"strings"
	"testing"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/tool"
)

func edits(pairs ...string) []any {
	var all []any
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, map[string]any{"old": pairs[i], "new": pairs[i+1]})
	}
	return all
}

const (
	modifyText = "one\ntwo\nthree\ntwo\n"
	modifyHunk = "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
	modifyDiff = "--- a/a.txt\n+++ b/a.txt\n" + modifyHunk
)

// TestModify: U171: edits and diffs change a file. A change that does not fit is reported and changes nothing.
func TestModify(t *testing.T) {
	for _, c := range []struct {
		name string
		call map[string]any
		want string // the file, "" for no change
		part string // a part of the result
	}{
		{"one edit", map[string]any{"edits": edits("three", "3")}, "one\ntwo\n3\ntwo\n", `"replacements":1`},
		{"edits build on another", map[string]any{"edits": edits("one\ntwo", "x", "x\nthree", "y")}, "y\ntwo\n", `"replacements":2`},
		{"all", map[string]any{"edits": []any{map[string]any{"old": "two", "new": "2", "all": true}}}, "one\n2\nthree\n2\n", `"replacements":2`},
		{"deleting", map[string]any{"edits": edits("three\n", "")}, "one\ntwo\ntwo\n", `"modified"`},
		{"a diff", map[string]any{"diff": modifyDiff}, "one\n2\nthree\ntwo\n", `"modified"`},
		{"a diff without a header", map[string]any{"diff": strings.TrimSuffix(modifyHunk, "\n")}, "one\n2\nthree\ntwo\n", `+2`},
		{"a diff that names another file", map[string]any{"diff": strings.ReplaceAll(modifyDiff, "a.txt", "../../etc/passwd")}, "one\n2\nthree\ntwo\n", `"a.txt"`},
		{"not found", map[string]any{"edits": edits("four", "4")}, "", "edit 1: its old text is not in the file"},
		{"found twice", map[string]any{"edits": edits("one", "1", "two", "2")}, "", "edit 2: its old text is in the file 2 times"},
		{"the same", map[string]any{"edits": edits("one", "one")}, "", "changes nothing"},
		{"a diff with a wrong number", map[string]any{"diff": "@@ -9,1 +7,1 @@\n-three\n+3\n"}, "one\ntwo\n3\ntwo\n", `"modified"`},
		{"a diff that inserts", map[string]any{"diff": "@@ -1,0 +2,1 @@\n+new\n"}, "one\nnew\ntwo\nthree\ntwo\n", `"modified"`},
		{"a diff of two hunks", map[string]any{"diff": "@@ -1,1 +1,2 @@\n one\n+new\n@@ -4,1 +5,1 @@\n-two\n+2\n"}, "one\nnew\ntwo\nthree\n2\n", `"modified"`},
		{"a diff with hunks in the wrong order", map[string]any{"diff": "@@ -3,1 +3,1 @@\n-three\n+3\n@@ -1,1 +1,1 @@\n-one\n+1\n"}, "", "hunk 2 of the diff does not fit"},
		{"a diff that may fit twice", map[string]any{"diff": "@@ -1,1 +1,1 @@\n-two\n+2\n"}, "", "more than once"},
		{"a diff without a match", map[string]any{"diff": "@@ -1,1 +1,1 @@\n-four\n+4\n"}, "", "does not fit the file"},
		{"a diff far away", map[string]any{"diff": "@@ -9223372036854775807,1 +1,1 @@\n-four\n+4\n"}, "", "does not fit the file"},
		{"a diff that counts wrong", map[string]any{"diff": "@@ -1,9 +1,1 @@\n-one\n+2\n"}, "", "cannot be parsed"},
		{"no diff", map[string]any{"diff": "hello"}, "", "0 files"},
		{"two files", map[string]any{"diff": modifyDiff + strings.ReplaceAll(modifyDiff, "a.txt", "b.txt")}, "", "2 files"},
		{"a diff that deletes", map[string]any{"diff": "--- a/a.txt\n+++ /dev/null\n@@ -1,4 +0,0 @@\n-one\n-two\n-three\n-two\n"}, "", "more than change text"},
		{"a diff that renames", map[string]any{"diff": "diff --git a/a.txt b/b.txt\nsimilarity index 100%\nrename from a.txt\nrename to b.txt\n"}, "", "more than change text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, nil)
			b.put("a.txt", modifyText)
			c.call["path"] = "a.txt"
			r := b.run("modify_file", c.call)
			want := c.want
			if want == "" {
				want = modifyText
				if r.Status != sdk.ToolError || r.Code != tool.CodeFailed {
					t.Errorf("%s %s", r.Status, r.Code)
				}
			} else if len(r.Changed) != 1 || r.Changed[0] != "a.txt" {
				t.Errorf("changed %v", r.Changed)
			}
			if got := b.file("a.txt"); got != want || !strings.Contains(string(r.Data), c.part) {
				t.Errorf("file %q, want %q; result %s", got, want, r.Data)
			}
		})
	}
}

// TestModifyIsBounded: a small call cannot produce a huge file or an endless search.
func TestModifyIsBounded(t *testing.T) {
	b := newBench(t, nil)
	b.put("a.txt", strings.Repeat("a\n", 1<<20))
	before := b.file("a.txt")
	hunk := "@@ -1,1 +1,1 @@\n-b\n+c\n"
	for want, call := range map[string]map[string]any{
		"would make the file longer": {"edits": []any{map[string]any{"old": "a", "new": strings.Repeat("x", 1<<19), "all": true}}}, "hunks, more than": {"diff": "--- a/x\n+++ b/x\n" + strings.Repeat(hunk, 201)},
	} {
		call["path"] = "a.txt"
		if r := b.run("modify_file", call); r.Status != sdk.ToolError || !strings.Contains(r.message, want) || b.file("a.txt") != before {
			t.Errorf("%.300s", r.Data)
		}
	}
}

// TestPreviewIsVisible: D7: a preview has no character that controls a terminal or reverses the text.
func TestPreviewIsVisible(t *testing.T) {
	b := newBench(t, nil)
	b.put("a.txt", "one\r\n")
	p := b.prepare("write_file", map[string]any{"path": "a.txt", "content": "one\r\n\x1b[2Jtwo\u202e\r!\n", "reason": "be\x07cause"}, false)
	if strings.ContainsAny(p.Preview, "\x1b\u202e") || !strings.Contains(p.Preview, " one\r\n+<U+001B>[2Jtwo<U+202E><U+000D>!\n") || p.Reason != "be<U+0007>cause" {
		t.Errorf("preview %q, reason %q", p.Preview, p.Reason)
	}
}

// TestModifyAgain: U177: an interrupted call may be repeated, whether it was made or not; a new call must fit the file.
func TestModifyAgain(t *testing.T) {
	for name, call := range map[string]map[string]any{
		"edit": {"edits": edits("one", "1", "three", "3")}, "deleting": {"edits": edits("three\n", "")}, "diff": {"diff": modifyDiff}, "growing": {"edits": edits("three", "three and three")},
		"all": {"edits": []any{map[string]any{"old": "two", "new": "2", "all": true}}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil)
			b.put("a.txt", modifyText)
			call["path"] = "a.txt"
			for i, want := range []string{`"modified"`, `"already applied"`, `"already applied"`} {
				if r := b.prepare("modify_file", call, true).Run(t.Context()); r.Status != sdk.ToolSuccess || !strings.Contains(string(r.Data), want) {
					t.Errorf("time %d: %s", i+1, r.Data)
				}
			}
			after := b.file("a.txt")
			if r := b.run("modify_file", call); name != "growing" && r.Status != sdk.ToolError || name != "growing" && b.file("a.txt") != after {
				t.Errorf("fresh: %s", r.Data)
			}
		})
	}
}
