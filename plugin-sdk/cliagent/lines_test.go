package cliagent

import (
	"strings"
	"testing"
)

// FuzzSplitter checks that the lines of a text do not depend on its chunks, and that nothing is
// lost.
func FuzzSplitter(f *testing.F) {
	for _, text := range []string{"", "a\n", "a\nb", "abc\nd\n", "\n\n", "a\nb\n\nc"} {
		f.Add(text, uint8(0))
		f.Add(text, uint8(2))
	}
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		want := strings.SplitAfter(text, "\n")
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		got := []string{}
		s := &splitter{emit: func(line []byte) { got = append(got, string(line)) }}
		for rest, n := text, int(size)+1; rest != ""; {
			n = min(n, len(rest))
			s.write([]byte(rest[:n]))
			rest = rest[n:]
		}
		s.flush()
		compare(t, want, got)
	})
}

func TestTail(t *testing.T) {
	tests := []struct {
		name   string
		chunks []string
		want   string
	}{
		{"short", []string{"a\n", "b\n"}, "a\nb"},
		{"cut at a line", []string{"0123456789\n", "abc\n", "def\n"}, "abc\ndef"},
		{"one long line", []string{strings.Repeat("x", 50)}, strings.Repeat("x", 12)},
		{"broken character", []string{"ok \xff"}, "ok �"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tl := &tail{max: 12}
			for _, c := range tt.chunks {
				tl.write([]byte(c))
			}
			compare(t, tt.want, tl.String())
		})
	}
}
