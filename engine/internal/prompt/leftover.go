package prompt

import (
	"regexp"
	"slices"
	"strings"
)

// Variables are the names that [Resolve] replaces, without their braces.
var Variables = []string{
	"CTX", "STATUS", "RESULT", "SESSION", "SESSION_NAME", "ITERATION", "INDEX", "PERSPECTIVE", "OUTPUT", "OUTPUT_PATH",
	"PROGRESS", "PROGRESS_FILE", "CONTEXT",
}

// ContractVariables are the names that it replaces besides for a node with a contract.
var ContractVariables = []string{"ARTIFACT", "INPUT_ARTIFACT", "FEEDBACK", "STEP"}

// Leftover is a variable that [Resolve] leaves as it is.
type Leftover struct {
	Text         string // "${NAME}" as written
	Line, Column int    // from 1, in characters
}

// variable is a name in braces as in templates; lower-case names are left to shells. ${INPUTS.x} was never replaced.
var variable = regexp.MustCompile(`\$\{([A-Z_][A-Z0-9_]*)(\.[A-Za-z0-9_.-]+)?\}`)

// Used are the names of the variables that a template has and [Resolve] may replace, each once, in order of their first use.
func Used(template string) []string {
	var used []string
	for _, m := range variable.FindAllStringSubmatch(template, -1) {
		known := slices.Contains(Variables, m[1]) || slices.Contains(ContractVariables, m[1])
		if m[2] == "" && known && !slices.Contains(used, m[1]) {
			used = append(used, m[1])
		}
	}
	return used
}

// Leftovers finds the variables of a template that have no meaning, in order; contract: for a node that has one.
func Leftovers(template string, contract bool) []Leftover {
	names := Variables
	if contract {
		names = slices.Concat(Variables, ContractVariables)
	}
	var found []Leftover
	line := 0
	for text := range strings.Lines(template) {
		line++
		for _, m := range variable.FindAllStringSubmatchIndex(text, -1) {
			if m[4] < 0 && slices.Contains(names, text[m[2]:m[3]]) {
				continue
			}
			found = append(found, Leftover{Text: text[m[0]:m[1]], Line: line, Column: len([]rune(text[:m[0]])) + 1})
		}
	}
	return found
}
