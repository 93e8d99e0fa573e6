package redact

import "strings"

// longestKey is how many lines a private key may have: where its end is missing, the log goes on after that.
const longestKey = 200

// Lines redacts the lines of one text as they come. It is used from one goroutine.
type Lines struct {
	redactor *Redactor
	inside   int // lines of a private key that may still come
}

// Lines begins a text.
func (r *Redactor) Lines() *Lines { return &Lines{redactor: r} }

// Line is the next line without its secrets. Of a private key that takes several lines, each is a [Mark].
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

// Skip passes over a line that nobody will see.
func (l *Lines) Skip(line string) { l.advance(line) }

// advance reports whether the line begins inside a private key, and what of it comes after the key.
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

// cutKeyEnd is what comes after the end of a private key.
func cutKeyEnd(line string) (after string, found bool) {
	_, line, found = strings.Cut(line, "-----END ")
	if !found {
		return "", false
	}
	_, after, found = strings.Cut(line, "PRIVATE KEY-----")
	return after, found
}
