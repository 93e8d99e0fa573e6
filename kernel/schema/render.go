package schema

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// sortedFaults flattens the library's tree of errors. The alternatives of anyOf or oneOf are one fault together,
// because a fault for each would hide the remedy.
func sortedFaults(e *jsonschema.ValidationError, value any) []Fault {
	return sortFaults(collectFaults(e, value))
}

func collectFaults(e *jsonschema.ValidationError, root any) []Fault {
	switch e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		var faults []Fault
		for _, cause := range e.Causes {
			faults = append(faults, collectFaults(cause, root)...)
		}
		return faults
	}
	at := slices.Clone(e.InstanceLocation)
	value := valueAt(root, at)
	if members := memberFaults(e.ErrorKind, at); members != nil {
		return members
	}
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf:
		return []Fault{newFault(at, CodeConstraint, "matches none of the alternatives: %s", alternativeReasons(e, root))}
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return []Fault{newFault(at, CodeExclusive, "matches more than one of the exclusive alternatives")}
		}
		return []Fault{newFault(at, CodeConstraint, "matches none of the alternatives: %s", alternativeReasons(e, root))}
	case *kind.PropertyNames:
		return []Fault{newFault(at, CodeObject, "must not have a member %q: its name %s", k.Property, firstReason(e.Causes, at, root))}
	}
	code, message := describeFault(e.ErrorKind, value)
	return []Fault{newFault(at, code, "%s", message)}
}

// maxAlternatives is the maximum number of alternatives in a message.
const maxAlternatives = 3

// alternativeReasons returns the reasons why the first alternatives fail, and the number of the others.
func alternativeReasons(e *jsonschema.ValidationError, root any) string {
	var reasons []string
	for _, cause := range e.Causes[:min(len(e.Causes), maxAlternatives)] {
		reasons = append(reasons, firstReason([]*jsonschema.ValidationError{cause}, e.InstanceLocation, root))
	}
	if more := len(e.Causes) - maxAlternatives; more > 0 {
		reasons = append(reasons, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(slices.Compact(reasons), "; ")
}

// firstReason returns the first fault, without its path if that equals at; "is not allowed" if there is none.
func firstReason(causes []*jsonschema.ValidationError, at []string, root any) string {
	for _, cause := range causes {
		if faults := sortedFaults(cause, root); len(faults) > 0 {
			return strings.TrimPrefix(faults[0].Path+" ", jsonPath(at)+" ") + faults[0].Message
		}
	}
	return "is not allowed"
}

// memberFaults returns the faults of missing or forbidden members, each at its own path; nil for other kinds.
func memberFaults(k jsonschema.ErrorKind, at []string) []Fault {
	var faults []Fault
	add := func(names []string, code Code, format string, args ...any) {
		for _, name := range names {
			faults = append(faults, newFault(append(slices.Clone(at), name), code, format, args...))
		}
	}
	switch k := k.(type) {
	case *kind.Required:
		add(k.Missing, CodeMissing, "is missing")
	case *kind.AdditionalProperties:
		add(k.Properties, CodeUnknown, "is not allowed here")
	case *kind.DependentRequired:
		add(k.Missing, CodeDependency, "is missing: %q needs it", k.Prop)
	case *kind.Dependency:
		add(k.Missing, CodeDependency, "is missing: %q needs it", k.Prop)
	}
	return faults
}

// describeFault returns the code and the message of a fault.
func describeFault(k jsonschema.ErrorKind, value any) (Code, string) {
	if code, message := describeBound(k, value); message != "" {
		return code, message
	}
	switch k := k.(type) {
	case *kind.Type:
		return CodeType, fmt.Sprintf("must be %s, not %s", strings.Join(k.Want, " or "), preview(value))
	case *kind.Enum:
		return CodeEnum, fmt.Sprintf("must be one of %s, not %s", joinValues(k.Want), preview(value))
	case *kind.Const:
		return CodeEnum, fmt.Sprintf("must be %s, not %s", preview(k.Want), preview(value))
	case *kind.Format:
		return CodeFormat, fmt.Sprintf("is not a valid %s: %s", k.Want, preview(value))
	case *kind.Pattern:
		return CodePattern, fmt.Sprintf("must match %s, %s does not", k.Want, preview(value))
	case *kind.UniqueItems:
		return CodeUnique, fmt.Sprintf("has equal items: numbers %d and %d", k.Duplicates[0], k.Duplicates[1])
	case *kind.FalseSchema, *kind.AdditionalItems:
		return CodeUnknown, "is not allowed here"
	case *kind.Not:
		return CodeExclusive, "must not be " + preview(value)
	case *kind.InvalidJsonValue:
		return CodeSyntax, "is not a JSON value"
	case *kind.RefCycle:
		return CodeConstraint, "cannot be checked: the schema refers to itself without end"
	default:
		return CodeConstraint, fmt.Sprintf("violates %s: %s", strings.Join(k.KeywordPath(), "/"), preview(value))
	}
}

// describeBound returns the code and the message for a violated bound of a number, a length or a count; "" for other
// kinds.
func describeBound(k jsonschema.ErrorKind, value any) (code Code, message string) {
	count := func(code Code, noun, bound string, want, got int) (Code, string) {
		return code, fmt.Sprintf("must have at %s %d %s%s, has %d", bound, want, noun, plural(want), got)
	}
	limit := func(words string, want *big.Rat) (Code, string) {
		return CodeRange, fmt.Sprintf("must be %s %s, not %s", words, number(want), preview(value))
	}
	switch k := k.(type) {
	case *kind.MinItems:
		return count(CodeItems, "item", "least", k.Want, k.Got)
	case *kind.MaxItems:
		return count(CodeItems, "item", "most", k.Want, k.Got)
	case *kind.Contains:
		return CodeItems, "has no item that matches contains"
	case *kind.MinContains:
		return count(CodeItems, "matching item", "least", k.Want, len(k.Got))
	case *kind.MaxContains:
		return count(CodeItems, "matching item", "most", k.Want, len(k.Got))
	case *kind.MinLength:
		return count(CodeLength, "character", "least", k.Want, k.Got)
	case *kind.MaxLength:
		return count(CodeLength, "character", "most", k.Want, k.Got)
	case *kind.MinProperties:
		return count(CodeObject, "member", "least", k.Want, k.Got)
	case *kind.MaxProperties:
		return count(CodeObject, "member", "most", k.Want, k.Got)
	case *kind.Minimum:
		return limit("at least", k.Want)
	case *kind.Maximum:
		return limit("at most", k.Want)
	case *kind.ExclusiveMinimum:
		return limit("more than", k.Want)
	case *kind.ExclusiveMaximum:
		return limit("less than", k.Want)
	case *kind.MultipleOf:
		return limit("a multiple of", k.Want)
	}
	return "", ""
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// number renders a number without trailing zeros.
func number(n *big.Rat) string {
	if n.IsInt() {
		return n.Num().String()
	}
	f, _ := n.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// joinValues renders the allowed values in one line.
func joinValues(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = preview(v)
	}
	text := []rune(strings.Join(words, ", "))
	if most := 4 * MaxPreview; len(text) > most {
		return string(text[:most-1]) + "…"
	}
	return string(text)
}
