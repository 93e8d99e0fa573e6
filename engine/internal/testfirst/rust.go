package testfirst

import (
	"regexp"
	"strings"
)

// rustModule matches the start of a test module, up to its brace (The Rust Book, 11.3). One with a file of its own has a
// semicolon there.
var rustModule = regexp.MustCompile(`#\[cfg\((?:all\(\s*)?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*[{;]`)

// rustText matches text in a Rust source that is no code: comments, strings and characters. A raw string and a nested
// comment have no regular end; textEnd finds it.
var rustText = regexp.MustCompile(`//[^\n]*|/\*|\bb?r#*"|"(?:[^"\\]|\\(?s:.))*"|'(?:[^'\\\n]|\\[^\n]{1,9}?)'`)

// splitRust splits a Rust source into its test modules and the rest, both without empty lines.
func splitRust(content string) (tests, rest string) {
	code, end := rustCode(content), 0
	for _, at := range rustModule.FindAllStringIndex(code, -1) {
		if at[0] < end { // nested
			continue
		}
		rest += content[end:at[0]] + "\n"
		end = at[1]
		for depth := strings.Count(code[at[1]-1:at[1]], "{"); end < len(code) && depth > 0; end++ {
			switch code[end] {
			case '{':
				depth++
			case '}':
				depth--
			}
		}
		tests += content[at[0]:end] + "\n"
	}
	return withoutEmptyLines(tests), withoutEmptyLines(rest + content[end:])
}

func withoutEmptyLines(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \t\r\n"); line != "" {
			kept.WriteString(line + "\n")
		}
	}
	return kept.String()
}

// rustCode returns a source of the same length with blanks instead of comments, strings and characters.
func rustCode(content string) string {
	code := []byte(content)
	for at := 0; ; {
		found := rustText.FindStringIndex(content[at:])
		if found == nil {
			return string(code)
		}
		begin := at + found[0]
		at = textEnd(content, begin, at+found[1])
		for i := begin; i < at; i++ {
			if code[i] != '\n' {
				code[i] = ' '
			}
		}
	}
}

// textEnd returns the end of a text whose begin was matched up to end.
func textEnd(content string, begin, end int) int {
	start := content[begin:end]
	switch {
	case start == "/*":
		for depth := 1; depth > 0; end++ {
			switch {
			case end+1 >= len(content):
				return len(content)
			case content[end:end+2] == "*/":
				depth--
				end++
			case content[end:end+2] == "/*":
				depth++
				end++
			}
		}
	case strings.HasPrefix(start, "r") || strings.HasPrefix(start, "br"):
		_, after, found := strings.Cut(content[end:], `"`+strings.Repeat("#", strings.Count(start, "#")))
		if !found {
			return len(content)
		}
		return len(content) - len(after)
	}
	return end
}
