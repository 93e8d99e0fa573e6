package yamldoc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity decides whether a diagnostic stops the compilation.
type Severity int

// SeverityError prevents a plan, SeverityWarning does not.
const (
	SeverityError Severity = iota
	SeverityWarning
)

// String returns "error" or "warning".
func (s Severity) String() string {
	if s == SeverityWarning {
		return "warning"
	}
	return "error"
}

// MarshalText returns the text of [Severity.String].
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Diagnostic is one fault or warning.
type Diagnostic struct {
	// File is the path of the file, relative to the project for a file in it, or "library:…" for a shipped file. For a
	// value of no file it is the label of the override, such as "--skip", or the name of the variable.
	File string `json:"file"`
	// Line and Column are the position of the value or key, from 1; 0 for a value of no file.
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Code     Code     `json:"code"`
	Message  string   `json:"message"`        // lower case
	Hint     string   `json:"hint,omitempty"` // how to fix it
	Severity Severity `json:"severity"`
}

// String renders one line: file:line:col: error[code]: message (hint).
func (d Diagnostic) String() string {
	var b strings.Builder
	b.WriteString(d.File)
	if d.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", d.Line, d.Column)
	}
	fmt.Fprintf(&b, ": %s[%s]: %s", d.Severity, d.Code, d.Message)
	if d.Hint != "" {
		fmt.Fprintf(&b, " (%s)", d.Hint)
	}
	return b.String()
}

// Diagnostics is a list of faults and warnings, and an error with one line for each.
type Diagnostics []Diagnostic

// Error renders one line for each diagnostic.
func (l Diagnostics) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

// HasErrors reports whether a diagnostic of the list has [SeverityError].
func (l Diagnostics) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == SeverityError })
}

// Sorted sorts the list in place by file and position and returns it without repetitions, which aliases and shared
// stages cause. Callers must use only the returned list.
func (l Diagnostics) Sorted() Diagnostics {
	slices.SortFunc(l, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(l)
}

// Fault is one fault of a document.
type Fault struct {
	Pos
	Code    Code
	Message string // lower case, without a period
	Hint    string // how to fix it; may be empty
}

func faultf(code Code, at Pos, hint, format string, args ...any) Fault {
	return Fault{Pos: at, Code: code, Message: fmt.Sprintf(format, args...), Hint: hint}
}
