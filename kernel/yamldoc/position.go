package yamldoc

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// At returns the position of the character at a byte offset of a scalar's Source. data is the parsed document. It
// returns the scalar's own position for block scalars (| and >), and for characters on another line than the
// scalar's first.
func (n *Node) At(data []byte, offset int) Pos {
	raw, ok := restOfLine(data, n.Pos)
	if !ok || offset < 0 || offset > len(n.Source) {
		return n.Pos
	}
	length := rawLength(raw, n.Source[:offset])
	if length < 0 {
		return n.Pos
	}
	return Pos{n.Line, n.Column + utf8.RuneCountInString(raw[:length])}
}

// restOfLine returns the line of a position from that position on.
func restOfLine(data []byte, at Pos) (string, bool) {
	for range at.Line - 1 {
		_, after, found := bytes.Cut(data, []byte("\n"))
		if !found {
			return "", false
		}
		data = after
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	text := string(line)
	for range at.Column - 1 {
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
	return text, text != ""
}

// rawLength returns the number of bytes of a scalar in one line, with its opening quote, that stand for text; -1
// if they do not match.
func rawLength(raw, text string) int {
	length, next := 0, nextPlain
	switch raw[0] {
	case '\'':
		length, next = 1, nextSingleQuoted
	case '"':
		length, next = 1, nextDoubleQuoted
	}
	for text != "" {
		size, char := next(raw[length:])
		if size == 0 || !strings.HasPrefix(text, char) {
			return -1
		}
		length, text = length+size, text[len(char):]
	}
	return length
}

// nextPlain, nextSingleQuoted and nextDoubleQuoted return the size of the next character of a scalar in their
// style, and the character. The size is 0 at the end.
func nextPlain(raw string) (size int, char string) {
	_, size = utf8.DecodeRuneInString(raw)
	return size, raw[:size]
}

func nextSingleQuoted(raw string) (size int, char string) {
	switch {
	case strings.HasPrefix(raw, "''"):
		return 2, "'"
	case strings.HasPrefix(raw, "'"):
		return 0, ""
	default:
		return nextPlain(raw)
	}
}

// escapeDigits maps the letters of escapes to their number of hexadecimal digits.
var escapeDigits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// escapes are the other escapes, except those that stand for the character itself (YAML 1.1, 5.6).
var escapes = map[byte]string{
	'0': "\x00", 'a': "\a", 'b': "\b", 't': "\t", '\t': "\t", 'n': "\n", 'v': "\v", 'f': "\f", 'r': "\r", 'e': "\x1b",
	'N': "\u0085", '_': "\u00a0", 'L': "\u2028", 'P': "\u2029",
}

func nextDoubleQuoted(raw string) (size int, char string) {
	switch {
	case strings.HasPrefix(raw, `"`), raw == `\`:
		return 0, ""
	case !strings.HasPrefix(raw, `\`):
		return nextPlain(raw)
	}
	letter := raw[1]
	if n := escapeDigits[letter]; n > 0 && len(raw) >= 2+n {
		code, err := strconv.ParseUint(raw[2:2+n], 16, 32)
		if err != nil {
			return 0, ""
		}
		return 2 + n, string(rune(code))
	}
	if char, known := escapes[letter]; known {
		return 2, char
	}
	size, char = nextPlain(raw[1:])
	return 1 + size, char
}
