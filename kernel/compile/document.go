package compile

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// start is the location of faults of a whole file.
var start = yamldoc.Pos{Line: 1, Column: 1}

// parse returns the document's root object. It returns false and reports a fault if there is none.
func parse(d yamldoc.Document, data []byte) (object, bool) {
	root, ok := d.Parse(data)
	switch {
	case !ok:
	case root == nil:
		d.Errorf(start, yamldoc.CodeRead, "", "the file is empty")
	case root.Kind != yamldoc.Map:
		d.Errorf(root.Pos, yamldoc.CodeType, "", "the file must hold a map, not %s", root.Kind)
	default:
		return object{d, root, "the file"}, true
	}
	return object{}, false
}

// location is a position in a document.
type location struct {
	yamldoc.Document
	pos yamldoc.Pos
}

// String returns file:line:column, or the name alone for a value of no file.
func (p location) String() string {
	if p.pos.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.pos.Line, p.pos.Column)
}

// Errorf adds an error.
func (p location) Errorf(code yamldoc.Code, hint, format string, args ...any) {
	p.Document.Errorf(p.pos, code, hint, format, args...)
}

// Warnf adds a warning.
func (p location) Warnf(code yamldoc.Code, hint, format string, args ...any) {
	p.Document.Warnf(p.pos, code, hint, format, args...)
}
