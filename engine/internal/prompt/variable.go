package prompt

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
)

// Variables are the names that [ReplaceVariables] replaces, without their braces: paths of the iteration's files, its
// position, and the text of the context option.
var Variables = []string{
	"CTX", "STATUS", "RESULT", "SESSION", "SESSION_NAME", "ITERATION", "INDEX", "PERSPECTIVE", "OUTPUT", "OUTPUT_PATH",
	"PROGRESS", "PROGRESS_FILE", "CONTEXT",
}

// ContractVariables are the additional names for a node with a contract: the paths of its artifact and of its input
// artifact, the feedback on earlier work, and the step in JSON.
var ContractVariables = []string{"ARTIFACT", "INPUT_ARTIFACT", "FEEDBACK", "STEP"}

// aliases maps a variable to the variable that has its value.
var aliases = map[string]string{"SESSION_NAME": "SESSION", "PROGRESS_FILE": "PROGRESS"}

// known returns the names that have a meaning in a template; contract says whether the node has a contract.
func known(contract bool) []string {
	if contract {
		return slices.Concat(Variables, ContractVariables)
	}
	return Variables
}

// ReplaceVariables replaces the variables of a template, such as ${CTX}, by their values; a variable without a value
// becomes empty. It drops trailing newlines, because the agent's standard input ends without one. Unknown variables and
// $NAME without braces stay, and [ContractVariables] stay if contract is false.
func ReplaceVariables(template string, values map[string]string, contract bool) string {
	var pairs []string
	for _, name := range known(contract) {
		pairs = append(pairs, "${"+name+"}", values[cmp.Or(aliases[name], name)])
	}
	return strings.TrimRight(strings.NewReplacer(pairs...).Replace(template), "\n")
}

// Leftover is a variable that [ReplaceVariables] leaves as it is.
type Leftover struct {
	Text         string // "${NAME}" as written
	Line, Column int    // from 1, in characters
}

// variable matches a name in braces; lower-case names are left to shells. It also matches ${INPUTS.x}, which is never
// replaced.
var variable = regexp.MustCompile(`\$\{([A-Z_][A-Z0-9_]*)(\.[A-Za-z0-9_.-]+)?\}`)

// Used returns the names of the variables in a template that [ReplaceVariables] may replace, each once, in order of
// their first use.
func Used(template string) []string {
	var used []string
	for _, m := range variable.FindAllStringSubmatch(template, -1) {
		if m[2] == "" && slices.Contains(known(true), m[1]) && !slices.Contains(used, m[1]) {
			used = append(used, m[1])
		}
	}
	return used
}

// Leftovers returns the variables of a template that have no meaning, in order; contract says whether the node has a
// contract.
func Leftovers(template string, contract bool) []Leftover {
	names := known(contract)
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

// ReadFile reads a prompt file that a plan names. The session need not exist: a plan names the session's copy of a
// shipped stage's prompt, and ReadFile reads the original from the library. source is the file's name in messages.
func ReadFile(roots sources.Roots, session, file string) (source string, data []byte, err error) {
	shipped, ok := strings.CutPrefix(file, filepath.ToSlash(compile.LibraryDir(session))+"/")
	if ok && roots.Library != nil {
		data, err = fs.ReadFile(roots.Library, shipped)
		return sources.LibraryPrefix + shipped, data, err
	}
	data, err = os.ReadFile(roots.AbsolutePath(file))
	return file, data, err
}
