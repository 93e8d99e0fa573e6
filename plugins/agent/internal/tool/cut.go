package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// bytesPerToken is the estimated size of a token in texts and code.
const bytesPerToken = 4

// truncation counts the parts that a result lacks.
type truncation struct {
	Lines   int `json:"lines,omitempty"`
	Chars   int `json:"chars,omitempty"`
	Entries int `json:"entries,omitempty"`
}

// add returns the sum of two counts; nil is none.
func (t *truncation) add(other *truncation) *truncation {
	if t == nil {
		return other
	}
	if other != nil {
		t = &truncation{Lines: t.Lines + other.Lines, Chars: t.Chars + other.Chars, Entries: t.Entries + other.Entries}
	}
	return t
}

// cutMiddle keeps the beginning and the end of a text that exceeds most, in bytes, 60 to 40, in whole lines if
// possible. A line between them counts the missing lines and characters.
func cutMiddle(text string, most int) (string, *truncation) {
	if len(text) <= most {
		return text, nil
	}
	first := head(text, most*6/10)
	if i := strings.LastIndexByte(first, '\n'); i >= len(first)/2 {
		first = first[:i+1]
	}
	last := strings.ToValidUTF8(text[len(text)-most*4/10:], "")
	if i := strings.IndexByte(last, '\n'); i >= 0 && i < len(last)/2 {
		last = last[i+1:]
	}
	removed := text[len(first) : len(text)-len(last)]
	t := &truncation{Lines: strings.Count(removed, "\n"), Chars: utf8.RuneCountInString(removed)}
	return fmt.Sprintf("%s\n[... %d lines, %d characters left out ...]\n%s", strings.TrimSuffix(first, "\n"), t.Lines, t.Chars, last), t
}

// head returns the beginning of a text in whole characters. most is the limit in bytes.
func head(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// fitEntries returns the first entries that fit in the limit most, in bytes, and the number of dropped entries.
func fitEntries[T any](entries []T, most int, size func(T) int) ([]T, int) {
	for i, entry := range entries {
		if most -= size(entry); most < 0 {
			return entries[:i], len(entries) - i
		}
	}
	return entries, 0
}
