package screen

import (
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		name, text   string
		first, width int
		want         []string
	}{
		{"fits", "one two", 7, 7, []string{"one two"}},
		{"breaks", "one two three", 7, 7, []string{"one two", "three"}},
		{"a long word is whole", "a /very/long/path b", 5, 5, []string{"a", "/very/long/path", "b"}},
		{"a short first line", "one two three", 3, 9, []string{"one", "two three"}},
		{"no width", "one  two\nthree", 0, 0, []string{"one two three"}},
		{"wide characters", "漢字 漢字", 8, 8, []string{"漢字", "漢字"}},
		{"control characters", "a\x1b[31mb", 80, 80, []string{"a [31mb"}},
		{"nothing", " ", 10, 10, []string{""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			compare(t, tt.want, Wrap(tt.text, tt.first, tt.width))
		})
	}
}

func TestFold(t *testing.T) {
	for _, tt := range []struct {
		name, line  string
		width, hang int
		want        []string
	}{
		{"fits", "one two", 7, 2, []string{"one two"}},
		{"at a space", "one two three", 7, 2, []string{"one two", "  three"}},
		{"spaces within stay", "a  b c", 5, 0, []string{"a  b", "c"}},
		{"within a word", "abcdefgh", 3, 1, []string{"abc", " de", " fg", " h"}},
		{"behind an indentation", "  abcd efgh", 6, 2, []string{"  abcd", "  efgh"}},
		{"wide characters", "漢字漢字", 5, 0, []string{"漢字", "漢字"}},
		{"a character of two runes", "⚠️⚠️⚠️", 4, 0, []string{"⚠️⚠️", "⚠️"}},
		{"narrower than a character", "漢字", 1, 0, []string{"漢", "字"}},
		{"a hang as wide as the line", "abcd", 2, 2, []string{"ab", "cd"}},
		{"no width", "one two", 0, 0, []string{"one two"}},
		{"nothing", "", 10, 0, []string{""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			compare(t, tt.want, Fold(tt.line, tt.width, tt.hang))
		})
	}
}

// Every line fits, except for a single character that is too wide, and only spaces are lost.
func FuzzFold(f *testing.F) {
	f.Add("11:43:48 ✗ provider_crashed: the agent ended with exit code 3", 20, 9)
	f.Add("字 \xe6\xbc\x00\xe5", 4, 0)
	f.Fuzz(func(t *testing.T, line string, width, hang int) {
		line, width, hang = Clean(line), min(width, 300), min(hang, 300)
		bare := func(s string) string { return strings.ReplaceAll(s, " ", "") }
		lines := Fold(line, width, hang)
		for _, l := range lines {
			if width > 0 && Columns(l) > width && Columns(strings.TrimSpace(l)) > 2 {
				t.Errorf("%q has %d columns of %d", l, Columns(l), width)
			}
		}
		if bare(strings.Join(lines, "")) != bare(line) {
			t.Errorf("%q became %q", line, lines)
		}
	})
}
