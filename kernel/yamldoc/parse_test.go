package yamldoc_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

func TestValues(t *testing.T) {
	tests := map[string]struct {
		yaml string
		want any
	}{
		"scalars": {
			"a: text\nb: 3\nc: 2.50\nd: true\ne: ~\nf: 'quoted'\ng: \"3\"\nh: 0x10\ni: 2026-02-03\nj: yes\nk: 1e2",
			map[string]any{"a": "text", "b": 3, "c": 2.5, "d": true, "e": nil, "f": "quoted", "g": "3", "h": 16, "i": "2026-02-03", "j": "yes", "k": 100.0},
		},
		"large numbers":          {"[9223372036854775807, 18446744073709551615]", []any{9223372036854775807, 18446744073709551615.0}},
		"explicit tags":          {"[!!str 3, !!int \"3\", !!float 3]", []any{"3", 3, 3.0}},
		"block scalars":          {"a: |\n  two\n  lines\nb: >\n  one\n  line\n", map[string]any{"a": "two\nlines\n", "b": "one line\n"}},
		"keys that are no text":  {"3: a\ntrue: b", map[string]any{"3": "a", "true": "b"}},
		"alias":                  {"- &a {x: 1}\n- *a", []any{map[string]any{"x": 1}, map[string]any{"x": 1}}},
		"alias as key":           {"- &k key\n- {*k : 1}", []any{"key", map[string]any{"key": 1}}},
		"merge":                  {"- &a {x: 1, y: 1}\n- {<<: *a, y: 2}", []any{map[string]any{"x": 1, "y": 1}, map[string]any{"x": 1, "y": 2}}},
		"merge a list":           {"- &a {x: 1}\n- &b {x: 2, y: 2}\n- {<<: [*a, *b]}", []any{map[string]any{"x": 1}, map[string]any{"x": 2, "y": 2}, map[string]any{"x": 1, "y": 2}}},
		"text like a merge key":  {"a: <<", map[string]any{"a": "<<"}},
		"byte order mark, CR LF": {"\xef\xbb\xbfa: 1\r\nb: 2\r\n", map[string]any{"a": 1, "b": 2}},
		"empty map and list":     {"a: {}\nb: []", map[string]any{"a": map[string]any{}, "b": []any{}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root, faults := yamldoc.Parse([]byte(tt.yaml))
			if len(faults) > 0 {
				t.Fatalf("faults: %v", faults)
			}
			compare(t, tt.want, root.Any())
		})
	}
}

func TestEmptyDocument(t *testing.T) {
	for _, text := range []string{"", "# only a comment\n", "\n\n"} {
		if root, faults := yamldoc.Parse([]byte(text)); root != nil || faults != nil {
			t.Errorf("Parse(%q) = %v, %v", text, root, faults)
		}
	}
	var none *yamldoc.Node
	if got := none.Get("a"); got != nil {
		t.Errorf("a member of nothing: %v", got)
	}
}

func TestPositions(t *testing.T) {
	root, faults := yamldoc.Parse([]byte("größe: &g\n  - ä: x\n    b: 'y'\nagain: *g\n"))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	item := root.Get("größe").Items[0]
	got := []yamldoc.Pos{
		root.Pos, root.Entries[1].KeyPos, item.Pos, item.Get("ä").Pos, item.Get("b").Pos,
		root.Get("again").Pos, root.Get("again").Items[0].Pos,
	}
	want := []yamldoc.Pos{{1, 1}, {4, 1}, {2, 5}, {2, 8}, {3, 8}, {4, 8}, {2, 5}}
	compare(t, want, got)
}

func TestFaults(t *testing.T) {
	fault := func(code yamldoc.Code, line, column int, message string) yamldoc.Fault {
		return yamldoc.Fault{Code: code, Pos: yamldoc.Pos{Line: line, Column: column}, Message: message}
	}
	tests := map[string]struct {
		yaml string
		want []yamldoc.Fault
	}{
		"first line":          {"a: b: c\n", []yamldoc.Fault{fault(yamldoc.CodeSyntax, 1, 1, "mapping values are not allowed in this context")}},
		"second line":         {"a: 1\n  b: c\n", []yamldoc.Fault{fault(yamldoc.CodeSyntax, 2, 3, "mapping values are not allowed in this context")}},
		"bad indentation":     {"a:\n  - x\n - y\n", []yamldoc.Fault{fault(yamldoc.CodeSyntax, 3, 2, "did not find expected key")}},
		"end in a quote":      {"a: 1\nb: 'x", []yamldoc.Fault{fault(yamldoc.CodeSyntax, 2, 1, "found unexpected end of stream")}},
		"no anchor":           {"a: 1\nb: *x\n", []yamldoc.Fault{fault(yamldoc.CodeSyntax, 2, 4, "alias *x has no anchor")}},
		"second document":     {"a: 1\n---\n@\n", []yamldoc.Fault{fault(yamldoc.CodeSyntax, 3, 1, "found character that cannot start any token")}},
		"documents":           {"a: 1\n---\nb: 1\n", []yamldoc.Fault{fault(yamldoc.CodeDocuments, 2, 1, "the file holds more than one YAML document")}},
		"tab":                 {"a:\n  b: 1\n\tc: 2\n", []yamldoc.Fault{fault(yamldoc.CodeTab, 3, 1, "a tab is used for indentation")}},
		"not UTF-8":           {"a: ä\nb: ä\xff", []yamldoc.Fault{fault(yamldoc.CodeEncoding, 2, 5, "byte 0xff is not UTF-8")}},
		"UTF-16":              {"\xff\xfea\x00", []yamldoc.Fault{fault(yamldoc.CodeEncoding, 1, 1, "byte 0xff is not UTF-8")}},
		"control character":   {"a: \x00", []yamldoc.Fault{fault(yamldoc.CodeEncoding, 1, 4, "character U+0000 is not allowed in YAML")}},
		"mark in the middle":  {"a: \uFEFF", []yamldoc.Fault{fault(yamldoc.CodeEncoding, 1, 4, "character U+FEFF is not allowed in YAML")}},
		"not a character":     {"a: \uFFFE", []yamldoc.Fault{fault(yamldoc.CodeEncoding, 1, 4, "character U+FFFE is not allowed in YAML")}},
		"same key":            {"a: 1\nb: 1\na: 2\n", []yamldoc.Fault{fault(yamldoc.CodeDuplicate, 3, 1, `key "a" is repeated, first in line 1`)}},
		"alias in itself":     {"a: &x [*x]\n", []yamldoc.Fault{fault(yamldoc.CodeUnsupported, 1, 8, "alias *x is inside of its own value")}},
		"key is a list":       {"? [a]\n: b\n", []yamldoc.Fault{fault(yamldoc.CodeUnsupported, 1, 3, "a key must be text")}},
		"key is null":         {"~: b\n", []yamldoc.Fault{fault(yamldoc.CodeUnsupported, 1, 1, "a key must be text")}},
		"not a number":        {"a: .nan\n", []yamldoc.Fault{fault(yamldoc.CodeUnsupported, 1, 4, `".nan" is not a finite number or boolean`)}},
		"wrong explicit tag":  {"a: !!int x\n", []yamldoc.Fault{fault(yamldoc.CodeUnsupported, 1, 4, `"x" is not a finite number or boolean`)}},
		"binary":              {"a: !!binary aGk=\n", []yamldoc.Fault{fault(yamldoc.CodeUnsupported, 1, 4, "tag !!binary is not supported")}},
		"tags on collections": {"a: !!set {x}\nb: !mine [y]\n", []yamldoc.Fault{fault(yamldoc.CodeUnsupported, 1, 4, "tag !!set is not supported"), fault(yamldoc.CodeUnsupported, 2, 4, "tag !mine is not supported")}},
		"merge of a scalar":   {"<<: x\n", []yamldoc.Fault{fault(yamldoc.CodeUnsupported, 1, 5, "a merge key (<<) takes a map or a list of maps, not text")}},
		"merge of a list":     {"<<: [x]\n", []yamldoc.Fault{fault(yamldoc.CodeUnsupported, 1, 6, "a merge key (<<) takes a map or a list of maps, not text")}},
		"nested too deep":     {strings.Repeat("[", 102) + strings.Repeat("]", 102), []yamldoc.Fault{fault(yamldoc.CodeSize, 1, 102, "the document is nested more than 100 levels deep")}},
		"more than one at once": {"a: .inf\na: 1\nb: !x y\n", []yamldoc.Fault{
			fault(yamldoc.CodeUnsupported, 1, 4, `".inf" is not a finite number or boolean`),
			fault(yamldoc.CodeDuplicate, 2, 1, `key "a" is repeated, first in line 1`),
			fault(yamldoc.CodeUnsupported, 3, 4, "tag !x is not supported"),
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, got := yamldoc.Parse([]byte(tt.yaml))
			for i := range got {
				got[i].Hint = ""
			}
			compare(t, tt.want, got)
		})
	}
}

// FuzzParse parses anything: it never panics, faults have a position, and the values are JSON.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"name: a\nnodes:\n  - {id: a, prompt: x}\n", "a: &x [1, 2.5, *x]\n<<: {b: ~}\n", "? [a]\n: !t b\n", "a: |\n  b\n---\n\tc", "- &a [*a]\n", "\xef\xbb\xbf%YAML 1.1\n---\na: 'b",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		root, faults := yamldoc.Parse(data)
		for _, fault := range faults {
			if fault.Line < 1 || fault.Column < 1 || fault.Message == "" {
				t.Fatalf("a fault without a position: %+v", fault)
			}
		}
		if root != nil {
			if _, err := json.Marshal(root.Any()); err != nil {
				t.Fatalf("a value is not JSON: %v", err)
			}
		}
	})
}

func TestDiagnosticJSON(t *testing.T) {
	d := yamldoc.Diagnostic{File: "p.yaml", Line: 1, Column: 2, Code: yamldoc.CodeType, Message: "m", Severity: yamldoc.SeverityWarning}
	got, err := json.Marshal(d)
	want := `{"file":"p.yaml","line":1,"column":2,"code":"AP-YAML-101","message":"m","severity":"warning"}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

// U301: diagnostics are sorted by position, without repetitions, and render one line each.
func TestDiagnosticsAreSorted(t *testing.T) {
	var l yamldoc.Diagnostics
	d := yamldoc.Document{File: "p.yaml", Diagnostics: &l}
	d.Warnf(yamldoc.Pos{Line: 2, Column: 1}, yamldoc.CodeNoEffect, "", "%s has no effect yet", "b")
	if l.HasErrors() {
		t.Error("a warning counts as an error")
	}
	d.Errorf(yamldoc.Pos{Line: 1, Column: 3}, yamldoc.CodeType, "write text", "a must be text")
	d.Errorf(yamldoc.Pos{Line: 1, Column: 3}, yamldoc.CodeType, "write text", "a must be text")
	want := "p.yaml:1:3: error[AP-YAML-101]: a must be text (write text)\np.yaml:2:1: warning[AP-YAML-303]: b has no effect yet"
	compare(t, want, l.Sorted().Error())
	if !l.HasErrors() {
		t.Error("the error is not reported")
	}
}

// A document has a tree, is empty, or is broken.
func TestDocumentParse(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		tree, ok   bool
		faults     int
	}{
		{"a map", "a: 1", true, true, 0},
		{"empty", "", false, true, 0},
		{"comments only", "# nothing\n", false, true, 0},
		{"null", "~", false, true, 0},
		{"broken", "a: [", false, false, 1},
		{"a key twice", "a: 1\na: 2", true, true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var l yamldoc.Diagnostics
			root, ok := yamldoc.Document{File: "p.yaml", Diagnostics: &l}.Parse([]byte(tt.text))
			if (root != nil) != tt.tree || ok != tt.ok || len(l) != tt.faults {
				t.Errorf("tree %v, ok %v, faults %v", root, ok, l)
			}
		})
	}
}

// At returns the position in the file of a character within a scalar, here of the ^.
func TestAt(t *testing.T) {
	for name, tt := range map[string]struct {
		text   string
		column int // of the ^; 0: found in the text, -1: At returns the scalar's own position
	}{
		"plain":                    {"a: größe ^x", 10},
		"plain in a flow":          {"a: {b: c, d: 1 ^ 2}", 0},
		"single quotes":            {"a: 'it''s ^'", 11},
		"double quotes":            {`a: "ö \"b\" \\ ^"`, 16},
		"escapes":                  {`a: "\t\x41\u00e9\U0001F600\N\_\L\P\e ^"`, -1},
		"the end":                  {"a: '^'", 5},
		"the beginning":            {`a: "^ x"`, 5},
		"the first of two lines":   {"a: x ^\n  y", 6},
		"the second line":          {"a: x\n  y ^", -1},
		"the second line, quoted":  {"a: \"x\n  y ^\"", -1},
		"a line that is continued": {"a: \"x \\\n  y ^\"", -1},
		"a block":                  {"a: |\n  x ^", -1},
		"a folded block":           {"a: >-\n  x ^", -1},
		"windows":                  {"b: 1\r\na: x ^\r\n", 6},
		"an alias":                 {"b: &n x ^\na: *n", -1},
		"an anchor":                {"a: &n x ^", -1},
	} {
		t.Run(name, func(t *testing.T) {
			root, faults := yamldoc.Parse([]byte(tt.text))
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			n := root.Get("a")
			for n.Kind == yamldoc.Map {
				n = n.Get("d")
			}
			want := n.Pos
			switch {
			case tt.column > 0:
				want.Column = tt.column
			case tt.column == 0: // its position in the text
				before, _, _ := strings.Cut(tt.text, "^")
				want.Column = 1 + utf8.RuneCountInString(before)
			}
			compare(t, want, n.At([]byte(tt.text), strings.Index(n.Source, "^")))
		})
	}
}

// FuzzAt checks that At returns a position in the scalar's line, and without data the scalar's own position.
func FuzzAt(f *testing.F) {
	f.Add(`"a\x41b''"`, 2)
	f.Add(`'a''b'`, 2)
	f.Add("\"\\\n\"", 1)
	f.Fuzz(func(t *testing.T, text string, offset int) {
		root, _ := yamldoc.Parse([]byte(text))
		if root == nil {
			return
		}
		lines := strings.Split(text, "\n")
		at := root.At([]byte(text), offset)
		if at != root.Pos && (at.Line != root.Line || at.Column < root.Column || at.Column > 1+utf8.RuneCountInString(lines[at.Line-1])) {
			t.Errorf("%q at %d: %v", text, offset, at)
		}
		compare(t, root.Pos, root.At(nil, offset))
	})
}

// compare reports how got differs from want.
func compare[T any](t testing.TB, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
