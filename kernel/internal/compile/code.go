package compile

import "github.com/dodo-digital/agent-pipelines/kernel/internal/compile/yamltree"

// Code identifies a kind of diagnostic. Codes are stable and listed in docs/pipelines.md.
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
	CodeNotYet     Code = "AP-YAML-108" // a key that this version does not run
)

// 2xx: names of other things.
const (
	CodeStage       Code = "AP-YAML-201" // unknown stage
	CodePrompt      Code = "AP-YAML-202" // no prompt file
	CodeProvider    Code = "AP-YAML-203" // unknown provider, or none
	CodeTermination Code = "AP-YAML-204" // unknown termination type
	CodeInputs      Code = "AP-YAML-205" // inputs of an unknown or later node
)

// 3xx: warnings.
const (
	CodeUnknownKey Code = "AP-YAML-301"
	CodeDeprecated Code = "AP-YAML-302"
	CodeNoEffect   Code = "AP-YAML-303" // a key or value that changes nothing
	CodeNoNodes    Code = "AP-YAML-304" // an empty pipeline
	CodeNoInput    Code = "AP-YAML-305" // an initial input that matches no file
	CodeFallback   Code = "AP-YAML-306" // a prompt file is missing, another is used
	CodeMismatch   Code = "AP-YAML-307" // a stage's model goes to another provider than the stage's
)

// faultCode maps the faults of the YAML reader.
func faultCode(kind yamltree.FaultKind) Code {
	switch kind {
	case yamltree.Encoding:
		return CodeEncoding
	case yamltree.Tab:
		return CodeTab
	case yamltree.Duplicate:
		return CodeDuplicate
	case yamltree.Documents:
		return CodeDocuments
	case yamltree.Size:
		return CodeSize
	case yamltree.Unsupported:
		return CodeUnsupported
	default:
		return CodeSyntax
	}
}
