package dialect

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// FileStart is the location of faults of a whole file.
var FileStart = yamldoc.Pos{Line: 1, Column: 1}

// Location is a position in a document.
type Location struct {
	yamldoc.Document
	Pos yamldoc.Pos
}

// String returns file:line:column, or the name alone for a value of no file.
func (p Location) String() string {
	if p.Pos.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Pos.Line, p.Pos.Column)
}

// Errorf adds an error.
func (p Location) Errorf(code yamldoc.Code, hint, format string, args ...any) {
	p.Document.Errorf(p.Pos, code, hint, format, args...)
}

// Warnf adds a warning.
func (p Location) Warnf(code yamldoc.Code, hint, format string, args ...any) {
	p.Document.Warnf(p.Pos, code, hint, format, args...)
}
