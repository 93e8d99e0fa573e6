package diagnostic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity says whether a diagnostic stops the compilation.
type Severity int

// An error yields no plan, a warning does.
const (
	SeverityError Severity = iota
	SeverityWarning
)

// String is the word in rendered lines and JSON.
func (s Severity) String() string {
	if s == SeverityWarning {
		return "warning"
	}
	return "error"
}

// MarshalText gives the same word to encoding/json.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Diagnostic is one fault or warning.
type Diagnostic struct {
	// File is relative to the project where it lies inside it; "library:…" for a shipped stage, the
	// name of the flag or variable for a value that came from no file.
	File string `json:"file"`
	// Line and Column count from 1 and point at the offending value or key; both are 0 if the value
	// came from no file.
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Code     Code     `json:"code"`
	Message  string   `json:"message"`        // lower case, what is wrong
	Hint     string   `json:"hint,omitempty"` // what to do
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

// List is a list of faults and warnings. As an error it renders one line for each.
type List []Diagnostic

// Error renders the list.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, d := range l {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

// HasErrors says whether one of them stops the compilation.
func (l List) HasErrors() bool {
	return slices.ContainsFunc(l, func(d Diagnostic) bool { return d.Severity == SeverityError })
}

// Sorted sorts the list in place by position and returns it with each diagnostic once: a value that is
// used through an alias or by two nodes has its faults once.
func (l List) Sorted() List {
	slices.SortFunc(l, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(l)
}
