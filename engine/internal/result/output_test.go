package result

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
)

// U098: the text is cleaned, and cut at a line.
func TestCleanOutput(t *testing.T) {
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
		{"cut at a line", strings.Repeat(line, 1025), strings.Repeat(line, 1023) + strings.Repeat("x", 1023) + "\n" + truncationNotice + "\n", true},
		{"one endless line", strings.Repeat("é", OutputLimit), strings.Repeat("é", OutputLimit/2) + "\n" + truncationNotice + "\n", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, cut := CleanOutput(tt.raw)
			testkit.Equal(t, tt.want, got)
			if cut != tt.cut {
				t.Errorf("cut = %v, want %v", cut, tt.cut)
			}
		})
	}
}

func TestOutputBufferIsBounded(t *testing.T) {
	var b OutputBuffer
	chunk := strings.Repeat("y", 1<<20)
	for range 5 {
		b.Add(chunk)
	}
	text := b.Text()
	if len(text) != maxRawOutput {
		t.Errorf("kept %d", len(text))
	}
	if _, cut := CleanOutput(text); !cut {
		t.Error("a full buffer was not cut")
	}
}

func FuzzCleanOutput(f *testing.F) {
	f.Add("a\x1b[1mb\x1b]0;t")
	f.Fuzz(func(t *testing.T, raw string) {
		got, _ := CleanOutput(raw)
		if !utf8.ValidString(got) || strings.HasSuffix(got, "\n\n") || got != "" && !strings.HasSuffix(got, "\n") {
			t.Errorf("CleanOutput(%q) = %q", raw, got)
		}
	})
}
