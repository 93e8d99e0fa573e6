package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Code is the kind of a fault (REQUIREMENTS C6). Codes are stable.
type Code string

// The codes.
const (
	CodeMissing    Code = "VAL-001" // a required member is missing
	CodeType       Code = "VAL-002" // the wrong type
	CodeConstraint Code = "VAL-003" // another constraint
	CodeSyntax     Code = "VAL-004" // not JSON, or not YAML
	CodeUnknown    Code = "VAL-005" // a member or an item that is not allowed
	CodeItems      Code = "VAL-006" // too few or too many items
	CodePattern    Code = "VAL-007"
	CodeEnum       Code = "VAL-008" // none of the allowed values
	CodeLength     Code = "VAL-009" // text too short or too long
	CodeFormat     Code = "VAL-010"
	CodeRange      Code = "VAL-011" // a number too small or too large
	CodeUnique     Code = "VAL-012" // equal items
	CodeDependency Code = "VAL-013" // a member that another member needs
	CodeExclusive  Code = "VAL-014" // values that exclude each other
	CodeObject     Code = "VAL-015" // too few or too many members, or an invalid name of one
)

// MaxPreview is the maximum number of characters of a value in a message.
const MaxPreview = 100

// Fault is one fault of a value.
type Fault struct {
	Path    string `json:"path"` // "$.tasks[0].id", "$" for the value itself; for a missing member its own path
	Code    Code   `json:"code"`
	Message string `json:"message"` // "must be integer, not \"three\""; at most [MaxPreview] characters of the value

	tokens []string
}

// String returns a text such as "$.tasks[0].id: VAL-001: is missing".
func (f Fault) String() string { return fmt.Sprintf("%s: %s: %s", f.Path, f.Code, f.Message) }

func newFault(tokens []string, code Code, format string, args ...any) Fault {
	return Fault{Path: jsonPath(tokens), Code: code, Message: fmt.Sprintf(format, args...), tokens: tokens}
}

// sortFaults sorts faults by path and removes repetitions.
func sortFaults(faults []Fault) []Fault {
	slices.SortFunc(faults, func(a, b Fault) int {
		return cmp.Or(slices.CompareFunc(a.tokens, b.tokens, compareTokens), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(faults, func(a, b Fault) bool {
		return a.Path == b.Path && a.Code == b.Code && a.Message == b.Message
	})
}

// compareTokens compares numbers as numbers, other tokens as text.
func compareTokens(a, b string) int {
	m, errA := strconv.Atoi(a)
	n, errB := strconv.Atoi(b)
	if errA == nil && errB == nil {
		return cmp.Compare(m, n)
	}
	return cmp.Compare(a, b)
}

var (
	plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	itemKey  = regexp.MustCompile(`^[0-9]+$`)
)

// jsonPath renders a path: "$.tasks[0]", and $["a key"] for a key that is not a plain name.
func jsonPath(tokens []string) string {
	var b strings.Builder
	b.WriteByte('$')
	for _, token := range tokens {
		switch {
		case plainKey.MatchString(token):
			b.WriteString("." + token)
		case itemKey.MatchString(token):
			b.WriteString("[" + token + "]")
		default:
			b.WriteString("[" + strconv.Quote(token) + "]")
		}
	}
	return b.String()
}

// preview returns the start of a value as JSON, on one line.
func preview(value any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "a value that is not JSON"
	}
	text := []rune(strings.TrimSpace(b.String()))
	if len(text) <= MaxPreview {
		return string(text)
	}
	return string(text[:MaxPreview-1]) + "…"
}

// valueAt returns the value at a path; nil for none.
func valueAt(value any, tokens []string) any {
	for _, token := range tokens {
		switch v := value.(type) {
		case map[string]any:
			value = v[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}
