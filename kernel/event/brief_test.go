package event_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

func TestBrief(t *testing.T) {
	tests := []struct {
		name, text        string
		limit             int
		beginning, theEnd string
	}{
		{"short", "abc", 10, "abc", "abc"},
		{"just fits", "abcdefghij", 10, "abcdefghij", "abcdefghij"},
		{"too long", "abcdefghijk", 10, "abcdefg…", "…efghijk"},
		{"escaped", "<<<<", 15, "<<…", "…<<"},
		{"between characters", "ééééééé", 10, "ééé…", "…ééé"},
		{"no text", "\xff\xff\xffabc", 10, "…", "…abc"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := []string{event.Truncate(tt.text, tt.limit), event.TruncateFront(tt.text, tt.limit)}
			if diff := cmp.Diff([]string{tt.beginning, tt.theEnd}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whatever the text, what is left fits into its part of a line.
func TestBriefFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))+rapid.String().Draw(t, "text"), rapid.IntRange(1, 20).Draw(t, "times"))
		limit := rapid.IntRange(10, 400).Draw(t, "limit")
		for _, got := range []string{event.Truncate(text, limit), event.TruncateFront(text, limit)} {
			line, err := json.Marshal(got)
			if err != nil || len(line)-2 > limit {
				t.Fatalf("%d bytes of %q, %v", len(line)-2, got, err)
			}
			if got != text && !utf8.ValidString(got) {
				t.Fatalf("%q is no text", got)
			}
		}
	})
}
