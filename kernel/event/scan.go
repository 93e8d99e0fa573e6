package event

import "strings"

// This file scans JSON without building values. It is strict: every value that it accepts is valid for encoding/json
// too. Callers leave all else to encoding/json, which reports the error.

// maxDepth is the maximum nesting of values.
const maxDepth = 64

// scanObject calls each with the name and the value of every member of the object at b[i] and returns the index after
// it. It returns -1 if there is no object, a name is not plain, or each returns false. plain means that a string is
// ASCII without escapes. If each is nil, any name is accepted.
func scanObject(b []byte, i, depth int, each func(name, value []byte, plain bool) bool) int {
	if i >= len(b) || b[i] != '{' || depth > maxDepth {
		return -1
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == '}' {
		return i + 1
	}
	for last := false; !last; {
		end, plain := scanString(b, i)
		if end < 0 || !plain && each != nil {
			return -1
		}
		name := b[i+1 : end-1]
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return -1
		}
		i = skipSpace(b, i+1)
		if end, plain = scanValue(b, i, depth+1); end < 0 || each != nil && !each(name, b[i:end], plain) {
			return -1
		}
		i, last = scanNext(b, end, '}')
	}
	return i
}

// scanArray returns the index after the array at b[i], -1 if there is none.
func scanArray(b []byte, i, depth int) int {
	if i >= len(b) || b[i] != '[' || depth > maxDepth {
		return -1
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == ']' {
		return i + 1
	}
	for last := false; !last; {
		end, _ := scanValue(b, i, depth+1)
		if end < 0 {
			return -1
		}
		i, last = scanNext(b, end, ']')
	}
	return i
}

// scanNext returns the index of the member or element after a value that ended before b[i]. If the closing mark
// follows, last is true and at is the index after the mark. It returns -1 if neither a comma nor the mark follows.
func scanNext(b []byte, i int, closing byte) (at int, last bool) {
	i = skipSpace(b, i)
	switch {
	case i < len(b) && b[i] == ',':
		return skipSpace(b, i+1), false
	case i < len(b) && b[i] == closing:
		return i + 1, true
	}
	return -1, true
}

// scanValue returns the index after the value at b[i], -1 if there is none.
func scanValue(b []byte, i, depth int) (end int, plain bool) {
	if i >= len(b) {
		return -1, false
	}
	switch b[i] {
	case '"':
		return scanString(b, i)
	case '{':
		return scanObject(b, i, depth, nil), false
	case '[':
		return scanArray(b, i, depth), false
	case 't':
		return scanLiteral(b, i, "true"), false
	case 'f':
		return scanLiteral(b, i, "false"), false
	case 'n':
		return scanLiteral(b, i, "null"), false
	default:
		return scanNumber(b, i), false
	}
}

// scanString returns the index after the string at b[i], -1 if there is none, and whether it is plain: ASCII without
// escapes.
func scanString(b []byte, i int) (end int, plain bool) {
	if i >= len(b) || b[i] != '"' {
		return -1, false
	}
	plain = true
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, plain
		case c == '\\':
			plain = false
			if i++; i >= len(b) {
				return -1, false
			}
			if b[i] == 'u' {
				if i+4 >= len(b) || !areHexDigits(b[i+1:i+5]) {
					return -1, false
				}
				i += 4
			} else if !isOneOf(b, i, `"\/bfnrt`) {
				return -1, false
			}
		case c < ' ':
			return -1, false
		case c >= 0x80:
			plain = false
		}
	}
	return -1, false
}

func areHexDigits(b []byte) bool {
	for _, c := range b {
		if !isDigit(c) && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// scanNumber returns the index after the number at b[i], -1 if there is none.
func scanNumber(b []byte, i int) int {
	if isOneOf(b, i, "-") {
		i++
	}
	if isOneOf(b, i, "0") {
		i++
	} else if i = scanDigits(b, i); i < 0 {
		return -1
	}
	if isOneOf(b, i, ".") {
		if i = scanDigits(b, i+1); i < 0 {
			return -1
		}
	}
	if !isOneOf(b, i, "eE") {
		return i
	}
	if i++; isOneOf(b, i, "+-") {
		i++
	}
	return scanDigits(b, i)
}

// scanDigits returns the index after the digits at b[i], -1 if there are none.
func scanDigits(b []byte, i int) int {
	from := i
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

// isOneOf reports whether b[i] is one of the characters.
func isOneOf(b []byte, i int, set string) bool {
	return i < len(b) && strings.IndexByte(set, b[i]) >= 0
}

func scanLiteral(b []byte, i int, want string) int {
	if end := i + len(want); end <= len(b) && string(b[i:end]) == want {
		return end
	}
	return -1
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}
