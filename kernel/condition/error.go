package condition

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/file"
)

// Error is a fault of a condition's text.
type Error struct {
	// Offset is the position in bytes from the beginning; at most the text's length.
	Offset int
	// Line and Column are the position, from 1; Column counts characters.
	Line, Column int
	Message      string // lower case, without the position
	Hint         string // how to fix it; may be empty
}

// Error returns the position, the message and the hint.
func (e *Error) Error() string {
	text := fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// newError returns an error at a position in characters, as expr-lang counts.
func newError(text string, at int, hint, format string, args ...any) *Error {
	offset := len(text)
	for i := range text {
		if at == 0 {
			offset = i
			break
		}
		at--
	}
	before := text[:offset]
	return &Error{
		Offset: offset, Line: 1 + strings.Count(before, "\n"),
		Column:  1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]),
		Message: fmt.Sprintf(format, args...), Hint: hint,
	}
}

// unexpected matches the message of expr-lang for an unexpected token.
var unexpected = regexp.MustCompile(`^unexpected token \w+\((.*)\)$`)

const languageHint = "the language has == != < > <= >= % && || ! in matches, whole numbers, quoted text, true and false"

// syntaxError converts an error of expr-lang.
func syntaxError(text string, err error) *Error {
	var at *file.Error
	if !errors.As(err, &at) {
		return newError(text, 0, "", "%v", err)
	}
	token := unexpected.FindStringSubmatch(at.Message)
	switch {
	case strings.HasSuffix(at.Message, "unexpected token EOF"):
		return newError(text, utf8.RuneCountInString(text), "", "the condition is incomplete")
	case len(token) > 0 && token[1] == `"="`:
		return newError(text, at.From, "write == to compare", "= is an assignment")
	case len(token) > 0:
		return newError(text, at.From, languageHint, "unexpected %s", token[1])
	case strings.Contains(at.Message, " literal"):
		literal, _, _ := strings.Cut(at.Message, ": ")
		return newError(text, at.From, languageHint, "%s", literal)
	default:
		return newError(text, at.From, languageHint, "%s", at.Message)
	}
}
