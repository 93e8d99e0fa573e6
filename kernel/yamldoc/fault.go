package yamldoc

import "fmt"

// FaultKind is the kind of a fault.
type FaultKind int

// The kinds of faults.
const (
	Syntax      FaultKind = iota // not YAML
	Encoding                     // not UTF-8, or a character that YAML forbids
	Tab                          // a tab used for indentation
	Duplicate                    // a key that is repeated in one map
	Documents                    // more than one document in the file
	Size                         // more bytes, values or levels than allowed
	Unsupported                  // YAML that is no plain data: custom tags, keys that are not text
)

// Fault is one fault of a document.
type Fault struct {
	Pos
	Kind    FaultKind
	Message string // lower case, without a period
	Hint    string // how to fix it; may be empty
}

func faultf(kind FaultKind, at Pos, hint, format string, args ...any) Fault {
	return Fault{Pos: at, Kind: kind, Message: fmt.Sprintf(format, args...), Hint: hint}
}
