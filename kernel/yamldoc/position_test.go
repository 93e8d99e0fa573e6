package yamldoc_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// The position of a ^ within a scalar is its position in the file.
func TestAt(t *testing.T) {
	for name, tt := range map[string]struct {
		text   string
		column int // in the scalar's line
	}{
		"plain":                    {"a: größe ^x", 10},
		"plain in a flow":          {"a: {b: c, d: 1 ^ 2}", 0},
		"single quotes":            {"a: 'it''s ^'", 11},
		"double quotes":            {`a: "ö \"b\" \\ ^"`, 16},
		"escapes":                  {`a: "\t\x41\u00e9\U0001F600\N\_\L\P\e ^"`, 0},
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
			if got := n.At([]byte(tt.text), strings.Index(n.Source, "^")); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// FuzzAt checks that a position is in the scalar's line, or the scalar's own, which it is without data.
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
		if bare := root.At(nil, offset); bare != root.Pos {
			t.Errorf("without data: %v", bare)
		}
	})
}
