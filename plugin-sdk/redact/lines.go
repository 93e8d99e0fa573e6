package redact

import "strings"

// longestKey is the maximum number of lines of a private key. If the end of a key is missing,
// redaction stops after that many lines.
const longestKey = 200

// Lines redacts a text line by line. It is not safe for concurrent use.
type Lines struct {
	redactor *Redactor
	inside   int // maximum number of remaining lines of an open private key; 0 outside a key
}

// Lines returns a redactor for the lines of one text.
func (r *Redactor) Lines() *Lines { return &Lines{redactor: r} }

// Line returns the next line without its secrets. Each line of a private key becomes a [Mark].
func (l *Lines) Line(line string) string {
	within, rest := l.advance(line)
	switch {
	case !within:
		return l.redactor.Text(line)
	case rest == "":
		return Mark
	}
	return Mark + l.redactor.Text(rest)
}

// Skip reads a line that the caller does not output.
func (l *Lines) Skip(line string) { l.advance(line) }

// advance reports whether the line begins inside a private key, and returns the text after the key.
func (l *Lines) advance(line string) (within bool, rest string) {
	if l.inside > 0 {
		within = true
		l.inside--
		after, ends := cutKeyEnd(line)
		if !ends {
			return true, ""
		}
		l.inside, line = 0, after
	}
	if opensKey(line) {
		l.inside = longestKey
	}
	return within, line
}

// opensKey reports whether a private key begins in the line and does not end in it.
func opensKey(line string) bool {
	i := strings.LastIndex(line, "-----BEGIN ")
	return i >= 0 && strings.Contains(line[i:], "PRIVATE KEY-----") && !strings.Contains(line[i:], "-----END ")
}

// cutKeyEnd returns the text after the end of a private key.
func cutKeyEnd(line string) (after string, found bool) {
	_, line, found = strings.Cut(line, "-----END ")
	if !found {
		return "", false
	}
	_, after, found = strings.Cut(line, "PRIVATE KEY-----")
	return after, found
}
