package nearest

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	names := []string{"claude", "codex", "mock", "judge", "coder"}
	tests := map[string]string{
		"claud": "claude", "cladue": "claude", "Claude": "claude", "codxe": "codex", "mok": "mock", "fudge": "judge",
		"code": "coder", "gemini": "", "": "", "xx": "", strings.Repeat("claude", 100): "",
	}
	for word, want := range map[string]string{"outputs": "output", "OUTPUT": "output", "output_chunk": "output_chunks", "usgae": "usage", "model": ""} {
		if got := Name(word, []string{"output", "output_chunks", "usage"}); got != want {
			t.Errorf("Name(%q) = %q, want %q", word, got, want)
		}
	}
	for word, want := range tests {
		if got := Name(word, names); got != want {
			t.Errorf("Name(%q) = %q, want %q", word, got, want)
		}
	}
	if got := Name("claude", nil); got != "" {
		t.Errorf("of no names %q", got)
	}
}

// FuzzDistance checks that a distance is zero for equal words, symmetric, and at most the length of
// the longer word.
func FuzzDistance(f *testing.F) {
	f.Add("claude", "cladue")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > maxLength || len(b) > maxLength {
			return
		}
		d := distance(a, b)
		if d != distance(b, a) || d < 0 || d > max(len([]rune(strings.ToLower(a))), len([]rune(strings.ToLower(b)))) || a == b && d != 0 {
			t.Errorf("distance(%q, %q) = %d", a, b, d)
		}
	})
}
