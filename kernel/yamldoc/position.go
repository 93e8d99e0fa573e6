package yamldoc

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// At returns the position of the character at a byte offset of a scalar's Source. data is the parsed document. At
// returns the scalar's own position for block scalars (| and >) and for characters after the scalar's first line. It
// does so after any escape but an escaped quote or backslash, too.
func (n *Node) At(data []byte, offset int) Pos {
	raw, ok := restOfLine(data, n.Pos)
	if !ok || offset < 0 || offset > len(n.Source) {
		return n.Pos
	}
	text := n.Source[:offset] // invalid for an offset inside of a character
	switch raw[0] {
	case '\'':
		text = "'" + strings.ReplaceAll(text, "'", "''")
	case '"':
		text = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text)
	}
	if !strings.HasPrefix(raw, text) || !utf8.ValidString(text) {
		return n.Pos
	}
	return Pos{n.Line, n.Column + utf8.RuneCountInString(text)}
}

// restOfLine returns the rest of a line from a position on. ok is false if there is none.
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
