package screen

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
			if diff := cmp.Diff(tt.want, Wrap(tt.text, tt.first, tt.width)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
