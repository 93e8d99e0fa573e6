package output

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// U098: the text is cleaned, and cut at a line.
func TestClean(t *testing.T) {
	line := strings.Repeat("x", 1023) + "\n"
	tests := []struct {
		name, raw, want string
		cut             bool
	}{
		{"empty", "", "", false},
		{"only newlines", "\n\n", "", false},
		{"one newline at the end", "a\n\nb\n\n\n", "a\n\nb\n", false},
		{"colours", "\x1b[31mred\x1b[0m plain", "red plain\n", false},
		{"title and link", "\x1b]0;title\x07a \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "a link\n", false},
		{"broken characters", "a\xff\xfeb", "a\uFFFDb\n", false},
		{"cut at a line", strings.Repeat(line, 1025), strings.Repeat(line, 1023) + strings.Repeat("x", 1023) + "\n" + Notice + "\n", true},
		{"one endless line", strings.Repeat("é", Limit), strings.Repeat("é", Limit/2) + "\n" + Notice + "\n", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, cut := Clean(tt.raw)
			testkit.Equal(t, tt.want, got)
			if cut != tt.cut {
				t.Errorf("cut = %v, want %v", cut, tt.cut)
			}
		})
	}
}

func TestBufferIsBounded(t *testing.T) {
	var b Buffer
	chunk := strings.Repeat("y", 1<<20)
	for range 5 {
		b.Add(chunk)
	}
	text := b.Text()
	if len(text) != maxText {
		t.Errorf("kept %d", len(text))
	}
	if _, cut := Clean(text); !cut {
		t.Error("a full buffer was not cut")
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[1mb\x1b]0;t")
	f.Fuzz(func(t *testing.T, raw string) {
		got, _ := Clean(raw)
		if !utf8.ValidString(got) || strings.HasSuffix(got, "\n\n") || got != "" && !strings.HasSuffix(got, "\n") {
			t.Errorf("Clean(%q) = %q", raw, got)
		}
	})
}
