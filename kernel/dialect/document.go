package dialect

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// FileStart is the location of faults of a whole file.
var FileStart = yamldoc.Pos{Line: 1, Column: 1}

// Parse returns the document's root map. It returns false and reports a fault if there is none.
func Parse(d yamldoc.Document, data []byte) (Map, bool) {
	root, ok := d.Parse(data)
	switch {
	case !ok:
	case root == nil:
		d.Errorf(FileStart, yamldoc.CodeRead, "", "the file is empty")
	case root.Kind != yamldoc.Map:
		d.Errorf(root.Pos, yamldoc.CodeType, "", "the file must hold a map, not %s", root.Kind)
	default:
		return Map{d, root, "the file"}, true
	}
	return Map{}, false
}

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
