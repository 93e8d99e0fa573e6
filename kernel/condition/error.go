package condition

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/file"
)

// Error is what is wrong with the text of a condition.
type Error struct {
	// Offset is where, in bytes from the beginning; at most the text's length.
	Offset int
	// Line and Column are the same place, both from 1; Column counts characters.
	Line, Column int
	Message      string // lower case, without the place
	Hint         string // what to do, may be empty
}

// Error renders the place, what is wrong and what to do.
func (e *Error) Error() string {
	text := fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
	if e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return text
}

// newError is an error at a place that is given in characters, as expr-lang counts.
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

// unexpected is how expr-lang words a token that it does not want.
var unexpected = regexp.MustCompile(`^unexpected token \w+\((.*)\)$`)

const languageHint = "there are == != < > <= >= % && || ! in matches, whole numbers, quoted text, true and false"

// syntaxError words an error of expr-lang.
func syntaxError(text string, err error) *Error {
	var at *file.Error
	if !errors.As(err, &at) {
		return newError(text, 0, "", "%v", err)
	}
	token := unexpected.FindStringSubmatch(at.Message)
	switch {
	case strings.HasSuffix(at.Message, "unexpected token EOF"):
		return newError(text, utf8.RuneCountInString(text), "", "something is missing at the end")
	case len(token) > 0 && token[1] == `"="`:
		return newError(text, at.From, "write == to compare", "= changes a value")
	case len(token) > 0:
		return newError(text, at.From, languageHint, "%s has no place here", token[1])
	case strings.Contains(at.Message, " literal"):
		literal, _, _ := strings.Cut(at.Message, ": ")
		return newError(text, at.From, languageHint, "%s", literal)
	default:
		return newError(text, at.From, languageHint, "%s", at.Message)
	}
}
