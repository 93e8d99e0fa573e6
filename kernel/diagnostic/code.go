package diagnostic

import "github.com/dodo-digital/agent-pipelines/kernel/yamldoc"

// Code identifies a kind of diagnostic. Codes are stable and explained in docs/errors.md.
type Code string

// 0xx: reading the file.
const (
	CodeSyntax      Code = "AP-YAML-001" // not YAML
	CodeEncoding    Code = "AP-YAML-002" // not UTF-8, or a forbidden character
	CodeTab         Code = "AP-YAML-003" // tabs in the indentation
	CodeDuplicate   Code = "AP-YAML-004" // a key twice in one map
	CodeDocuments   Code = "AP-YAML-005" // several documents
	CodeSize        Code = "AP-YAML-006" // file, nesting or aliases too large
	CodeUnsupported Code = "AP-YAML-007" // YAML that is no plain data
	CodeRead        Code = "AP-YAML-008" // unreadable or empty
)

// 1xx: keys and values.
const (
	CodeType       Code = "AP-YAML-101" // the wrong type
	CodeMissing    Code = "AP-YAML-102" // a required key is missing
	CodeRange      Code = "AP-YAML-103" // a number out of range
	CodeWord       Code = "AP-YAML-104" // a word that is none of the choices
	CodeIdentifier Code = "AP-YAML-105" // an id that cannot be a directory name
	CodeRepeated   Code = "AP-YAML-106" // an id twice
	CodeConflict   Code = "AP-YAML-107" // keys that exclude each other
)

// 2xx: names of other things.
const (
	CodeStage       Code = "AP-YAML-201" // unknown stage
	CodePrompt      Code = "AP-YAML-202" // no prompt file
	CodeProvider    Code = "AP-YAML-203" // unknown provider, or none
	CodeTermination Code = "AP-YAML-204" // unknown termination type
	CodeInputs      Code = "AP-YAML-205" // inputs of an unknown or later node
	CodePipeline    Code = "AP-YAML-206" // unknown pipeline
	CodeCircle      Code = "AP-YAML-207" // pipelines embed each other in a circle, or too deep
	CodeAction      Code = "AP-YAML-208" // unknown hook action
	CodeHookStage   Code = "AP-YAML-209" // a hook for a stage that does not exist, or that its point does not reach
	CodeCondition   Code = "AP-YAML-210" // a condition that is none
	CodeEdge        Code = "AP-YAML-211" // an edge that leads nowhere
	CodeFlow        Code = "AP-YAML-212" // a node that is never reached, or no way to the end
	CodeRequired    Code = "AP-YAML-213" // a way that leaves a required node out
	CodeSchema      Code = "AP-YAML-214" // a JSON Schema that is none
	CodeSteps       Code = "AP-YAML-215" // steps of an unknown or later node, or of one without an artifact
	CodeCheck       Code = "AP-YAML-216" // measured values of a check that does not exist
	CodeCommand     Code = "AP-YAML-217" // a command that nobody names
	CodeNode        Code = "AP-YAML-218" // a node that does not exist
	CodeMode        Code = "AP-YAML-219" // a provider that the mode does not allow
	CodePattern     Code = "AP-YAML-220" // a glob or regular expression that is none, or that fits nothing or the empty text
)

// 3xx: warnings.
const (
	CodeUnknownKey Code = "AP-YAML-301"
	CodeDeprecated Code = "AP-YAML-302"
	CodeNoEffect   Code = "AP-YAML-303" // a key or value that changes nothing
	CodeNoNodes    Code = "AP-YAML-304" // an empty pipeline
	CodeNoInput    Code = "AP-YAML-305" // an initial input that matches no file
	CodeFallback   Code = "AP-YAML-306" // a prompt file is missing, another is used
	CodeMismatch   Code = "AP-YAML-307" // a model goes to a provider that it was not named for
	CodeAmbiguous  Code = "AP-YAML-308" // a name that stands for several things, of which one is taken
	CodeUntrusted  Code = "AP-YAML-309" // a setting that a project may not make unless it is trusted
	CodeLeftOut    Code = "AP-YAML-310" // an optional check without its command
)

// 4xx: advice of lint; a run does not look for it.
const (
	CodeNoTermination Code = "AP-YAML-401" // a stage does not say when it ends
	CodeVariable      Code = "AP-YAML-402" // a prompt has a variable that nothing replaces
	CodeModel         Code = "AP-YAML-403" // a model that its provider does not know
	CodeJudgment      Code = "AP-YAML-404" // a judgment without its numbers
	CodeDefaultRuns   Code = "AP-YAML-405" // a node does not say how often it runs
	CodeOutcome       Code = "AP-YAML-406" // an edge for an outcome that the node never has, or a value without one
	CodeNoFail        Code = "AP-YAML-407" // checks that may fail for good, and no edge says what then
	CodeReserve       Code = "AP-YAML-408" // a ceiling of cost for a provider that does not say what it costs
	CodeNoField       Code = "AP-YAML-409" // a required field that the contract of the node it comes from does not promise
	CodeUnmade        Code = "AP-YAML-410" // a field that no node before makes
	CodeNeverSkipped  Code = "AP-YAML-411" // defaults for a node that is never skipped
	CodeNoTool        Code = "AP-YAML-412" // an artifact of a tool that the provider does not offer
	CodeExample       Code = "AP-YAML-413" // the example in a prompt does not fit the schema of what it asks for
)

// codeOf maps the faults of the YAML reader.
func codeOf(kind yamldoc.FaultKind) Code {
	switch kind {
	case yamldoc.Encoding:
		return CodeEncoding
	case yamldoc.Tab:
		return CodeTab
	case yamldoc.Duplicate:
		return CodeDuplicate
	case yamldoc.Documents:
		return CodeDocuments
	case yamldoc.Size:
		return CodeSize
	case yamldoc.Unsupported:
		return CodeUnsupported
	default:
		return CodeSyntax
	}
}
