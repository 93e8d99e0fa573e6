package prompt

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/compile"
	"github.com/dodo-digital/agent-pipelines/kernel/sources"
)

// Vars are the values of the template variables. An empty value replaces its variable by nothing.
type Vars struct {
	Context   string // ${CTX}: path of context.json
	Status    string // ${STATUS}: path of status.json
	Result    string // ${RESULT}: path of result.json
	Session   string // ${SESSION}, ${SESSION_NAME}
	Iteration string // ${ITERATION}, from 1
	Index     string // ${INDEX}, from 0
	Output    string // ${OUTPUT}: path of the agent's output
	// OutputPath is ${OUTPUT_PATH}: where the stage's declared output goes.
	OutputPath string
	Progress   string // ${PROGRESS}, ${PROGRESS_FILE}: path of the progress file
	Text       string // ${CONTEXT}: the text of the context option
	// Contract is nil for a node without a contract: in its template the variables of contracts stay as they are.
	Contract *Contract
}

// Contract are the values of the variables that a node with a contract has besides.
type Contract struct {
	Artifact      string // ${ARTIFACT}: path where the artifact goes
	InputArtifact string // ${INPUT_ARTIFACT}: path of the artifact that the node works from
	Feedback      string // ${FEEDBACK}: feedback on earlier work
	Step          string // ${STEP}: the step in JSON
}

// Resolve replaces the variables of the template and drops its trailing newlines, as the agent's
// standard input ends without one. Unknown variables and $NAME without braces stay.
func Resolve(template string, v Vars) string {
	values := []string{
		"${CTX}", v.Context,
		"${STATUS}", v.Status,
		"${RESULT}", v.Result,
		"${SESSION}", v.Session,
		"${SESSION_NAME}", v.Session,
		"${ITERATION}", v.Iteration,
		"${INDEX}", v.Index,
		"${PERSPECTIVE}", "", // never had a value
		"${OUTPUT}", v.Output,
		"${OUTPUT_PATH}", v.OutputPath,
		"${PROGRESS}", v.Progress,
		"${PROGRESS_FILE}", v.Progress,
		"${CONTEXT}", v.Text,
	}
	if c := v.Contract; c != nil {
		values = append(values, "${ARTIFACT}", c.Artifact, "${INPUT_ARTIFACT}", c.InputArtifact, "${FEEDBACK}", c.Feedback, "${STEP}", c.Step)
	}
	return strings.TrimRight(strings.NewReplacer(values...).Replace(template), "\n")
}

// ReadFile reads a prompt file that a plan names. The session need not exist: a plan names the session's copy of a shipped
// stage's prompt, and ReadFile reads the original from the library. source is the file's name in messages.
func ReadFile(roots sources.Roots, session, file string) (source string, data []byte, err error) {
	shipped, ok := strings.CutPrefix(file, filepath.ToSlash(compile.LibraryDir(session))+"/")
	if ok && roots.Library != nil {
		data, err = fs.ReadFile(roots.Library, shipped)
		return sources.LibraryPrefix + shipped, data, err
	}
	data, err = os.ReadFile(roots.AbsolutePath(file))
	return file, data, err
}
