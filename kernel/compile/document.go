package compile

import (
	"fmt"

	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// start is the location of faults of a whole file.
var start = yamldoc.Pos{Line: 1, Column: 1}

// document is a source of values with the list of its diagnostics.
type document = yamldoc.Document

// parse returns the document's root object. It returns false and reports a fault if there is none.
func parse(d document, data []byte) (object, bool) {
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
	document
	pos yamldoc.Pos
}

// String returns file:line:column, or the name alone for a value of no file.
func (p location) String() string {
	if p.pos.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.pos.Line, p.pos.Column)
}

func (p location) errorf(code yamldoc.Code, hint, format string, args ...any) {
	p.Errorf(p.pos, code, hint, format, args...)
}
