package yamldoc

// Code identifies a kind of diagnostic. Codes are stable and explained in docs/errors.md.
type Code string

// Codes 0xx are faults of the file.
const (
	CodeSyntax      Code = "AP-YAML-001" // not YAML
	CodeEncoding    Code = "AP-YAML-002" // not UTF-8, or a character that YAML forbids
	CodeTab         Code = "AP-YAML-003" // a tab in the indentation
	CodeDuplicate   Code = "AP-YAML-004" // a key that is repeated in one map
	CodeDocuments   Code = "AP-YAML-005" // more than one document
	CodeSize        Code = "AP-YAML-006" // more bytes, values or levels of nesting than allowed
	CodeUnsupported Code = "AP-YAML-007" // YAML that is not plain data: custom tags, keys that are not text
	CodeRead        Code = "AP-YAML-008" // unreadable or empty
)

// Codes 1xx are faults of keys and values.
const (
	CodeType       Code = "AP-YAML-101" // the wrong type
	CodeMissing    Code = "AP-YAML-102" // a required key is missing
	CodeRange      Code = "AP-YAML-103" // a number out of range
	CodeChoice     Code = "AP-YAML-104" // a value that is none of the choices
	CodeIdentifier Code = "AP-YAML-105" // an id that cannot be a directory name
	CodeRepeated   Code = "AP-YAML-106" // a repeated id
	CodeConflict   Code = "AP-YAML-107" // keys that exclude each other
)

// Codes 2xx are faults of references.
const (
	CodeStage       Code = "AP-YAML-201" // unknown stage
	CodePrompt      Code = "AP-YAML-202" // no prompt file
	CodeProvider    Code = "AP-YAML-203" // unknown provider, or none
	CodeTermination Code = "AP-YAML-204" // unknown termination type
	CodeInputs      Code = "AP-YAML-205" // inputs of an unknown or later node
	CodePipeline    Code = "AP-YAML-206" // unknown pipeline
	CodeCycle       Code = "AP-YAML-207" // pipelines embed each other in a circle, or too deep
	CodeAction      Code = "AP-YAML-208" // unknown hook action
	CodeHookStage   Code = "AP-YAML-209" // a hook for an unknown stage, or for one that its point never reaches
	CodeCondition   Code = "AP-YAML-210" // an invalid condition
	CodeEdge        Code = "AP-YAML-211" // an edge to an unknown node
	CodeFlow        Code = "AP-YAML-212" // a node that is never reached, or no path to the end
	CodeRequired    Code = "AP-YAML-213" // a path that avoids a required node
	CodeSchema      Code = "AP-YAML-214" // an invalid JSON Schema
	CodeSteps       Code = "AP-YAML-215" // steps of an unknown or later node, or of one without an artifact
	CodeCheck       Code = "AP-YAML-216" // a value of an unknown check
	CodeCommand     Code = "AP-YAML-217" // an unknown command
	CodeNode        Code = "AP-YAML-218" // an unknown node
	CodeMode        Code = "AP-YAML-219" // a provider that the mode does not allow
	CodePattern     Code = "AP-YAML-220" // an invalid glob or regexp, or one that matches nothing or the empty text
)

// Codes 3xx are warnings.
const (
	CodeUnknownKey Code = "AP-YAML-301"
	CodeDeprecated Code = "AP-YAML-302"
	CodeNoEffect   Code = "AP-YAML-303" // a key or value that changes nothing
	CodeNoNodes    Code = "AP-YAML-304" // an empty pipeline
	CodeNoInput    Code = "AP-YAML-305" // an initial input that matches no file
	CodeFallback   Code = "AP-YAML-306" // a prompt file is missing, another is used
	CodeMismatch   Code = "AP-YAML-307" // a model of another provider
	CodeAmbiguous  Code = "AP-YAML-308" // an ambiguous name
	CodeUntrusted  Code = "AP-YAML-309" // a setting that needs a trusted project
	CodeLeftOut    Code = "AP-YAML-310" // an optional check without its command
)

// Codes 4xx are advice of lint. Runs do not report them.
const (
	CodeNoTermination Code = "AP-YAML-401" // a stage without termination
	CodeVariable      Code = "AP-YAML-402" // a prompt has a variable that nothing replaces
	CodeModel         Code = "AP-YAML-403" // a model that is unknown to its provider
	CodeJudgment      Code = "AP-YAML-404" // a judgment without consensus and min_iterations
	CodeDefaultRuns   Code = "AP-YAML-405" // a node without runs
	CodeOutcome       Code = "AP-YAML-406" // an edge for an outcome that the node never has, or a value without an outcome
	CodeNoFail        Code = "AP-YAML-407" // a node whose checks may fail, without an edge for fail
	CodeReserve       Code = "AP-YAML-408" // a limit of cost or tokens for a provider that does not report them
	CodeNoField       Code = "AP-YAML-409" // a required field that the contract of its node lacks
	CodeNoProducer    Code = "AP-YAML-410" // a field that no earlier node makes
	CodeExample       Code = "AP-YAML-413" // an example in a prompt that does not match the schema
)
