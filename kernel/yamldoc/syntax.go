package yamldoc

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// badCharacter returns a fault for the first byte that is not UTF-8 or the first character that YAML forbids. The
// library reports neither with a line.
func badCharacter(data []byte) (Fault, bool) {
	at := Pos{1, 1}
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return faultf(CodeEncoding, at, "save the file as UTF-8", "byte 0x%02x is not UTF-8", data[i]), true
		case !printable(r) && (r != '\uFEFF' || i > 0):
			return faultf(CodeEncoding, at, "remove it, or write it as an escape in double quotes",
				"character %U is not allowed in YAML", r), true
		case r == '\n':
			at = Pos{at.Line + 1, 1}
		case i > 0 || r != '\uFEFF':
			at.Column++
		}
		i += size
	}
	return Fault{}, false
}

// printable reports whether a character is in c-printable of YAML 1.2, section 5.1, and not a byte order mark.
func printable(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r', r == 0x85:
		return true
	case r >= 0x20 && r <= 0x7E, r >= 0xA0 && r <= 0xD7FF:
		return true
	case r == '\uFEFF':
		return false
	default:
		return r >= 0xE000 && r <= 0xFFFD || r >= 0x10000
	}
}

var (
	libraryError  = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced$`)
)

// syntaxFault returns the library's error with a position. The library counts the lines of its parser's errors from 0
// and those of its scanner's from 1. It gives no line for an error in the first line, and never a column.
func syntaxFault(data []byte, err error) Fault {
	match := libraryError.FindStringSubmatch(err.Error())
	if match == nil {
		return faultf(CodeSyntax, Pos{1, 1}, "", "%v", err)
	}
	message := match[2]
	if anchor := unknownAnchor.FindStringSubmatch(message); anchor != nil {
		return faultf(CodeSyntax, findText(data, "*"+anchor[1]), "define it with &"+anchor[1]+" above its first use",
			"alias *%s has no anchor", anchor[1])
	}
	line, _ := strconv.Atoi(match[1])
	if line == 0 || strings.HasPrefix(message, "did not find expected") {
		line++
	}
	at := firstCharacter(data, line)
	if tab, ok := tabIndent(data, at.Line); ok {
		return faultf(CodeTab, tab, "indent with spaces", "a tab is used for indentation")
	}
	return faultf(CodeSyntax, at, "", "%s", message)
}

// firstCharacter returns the position of the first non-blank character of a line. A line after the end of the file
// means the last line.
func firstCharacter(data []byte, line int) Pos {
	lines := bytes.Split(data, []byte("\n"))
	line = min(line, len(lines))
	text := lines[line-1]
	return Pos{line, 1 + len(text) - len(bytes.TrimLeft(text, " \t"))}
}

// tabIndent returns the position of the first tab that indents a line. It searches up to the line after the fault.
func tabIndent(data []byte, line int) (Pos, bool) {
	for i, text := range bytes.Split(data, []byte("\n")) {
		if i > line {
			break
		}
		indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
		if tab := bytes.IndexByte(indent, '\t'); tab >= 0 && len(indent) < len(bytes.TrimRight(text, "\r")) {
			return Pos{i + 1, tab + 1}, true
		}
	}
	return Pos{}, false
}

// findText returns the position of the first occurrence of text, or the start of the document if there is none.
func findText(data []byte, text string) Pos {
	before, _, found := bytes.Cut(data, []byte(text))
	if !found {
		return Pos{1, 1}
	}
	start := bytes.LastIndexByte(before, '\n') + 1
	return Pos{1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[start:])}
}
