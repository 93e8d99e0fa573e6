package compile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/dodo-digital/agent-pipelines/kernel/internal/compile/yamltree"
)

// start is the beginning of a file, the place of faults that concern all of it.
var start = yamltree.Pos{Line: 1, Column: 1}

// document is one source of values, by the name that diagnostics show, and the list that they go to.
type document struct {
	name string
	list *Diagnostics
}

func (d document) report(severity Severity, at yamltree.Pos, code Code, hint, format string, args ...any) {
	*d.list = append(*d.list, Diagnostic{
		File: d.name, Line: at.Line, Column: at.Column, Code: code,
		Message: fmt.Sprintf(format, args...), Hint: hint, Severity: severity,
	})
}

func (d document) errorf(at yamltree.Pos, code Code, hint, format string, args ...any) {
	d.report(SeverityError, at, code, hint, format, args...)
}

func (d document) warnf(at yamltree.Pos, code Code, hint, format string, args ...any) {
	d.report(SeverityWarning, at, code, hint, format, args...)
}

// parse reads the document's map. It returns false, having said why, if there is none.
func (d document) parse(data []byte) (mapping, bool) {
	root, faults := yamltree.Parse(data)
	for _, f := range faults {
		d.errorf(f.Pos, faultCode(f.Kind), f.Hint, "%s", f.Message)
	}
	switch {
	case root != nil && root.Kind == yamltree.Map:
		return mapping{d, root, "the file"}, true
	case root == nil && len(faults) > 0:
	case root == nil || root.Kind == yamltree.Null:
		d.errorf(start, CodeRead, "", "the file is empty")
	default:
		d.errorf(root.Pos, CodeType, "", "the file must hold a map, not %s", root.Kind)
	}
	return mapping{}, false
}

// place is a position in a document: where a value came from.
type place struct {
	document
	at yamltree.Pos
}

func (p place) errorf(code Code, hint, format string, args ...any) {
	p.document.errorf(p.at, code, hint, format, args...)
}

// readFile reads a file of at most one byte more than the reader of YAML accepts. The problem is ""
// or says why the file cannot be read.
func readFile(path string) (data []byte, problem string) {
	f, err := os.Open(path)
	if err != nil {
		return nil, readProblem(err)
	}
	defer closeQuietly(f)
	return readAll(f)
}

func readAll(r io.Reader) ([]byte, string) {
	data, err := io.ReadAll(io.LimitReader(r, yamltree.MaxBytes+1))
	if err != nil {
		return nil, readProblem(err)
	}
	return data, ""
}

// readProblem words an error without the path, which diagnostics show anyway.
func readProblem(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return "the file cannot be read: " + err.Error()
}
