package diagnostic

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/dodo-digital/agent-pipelines/kernel/yamldoc"
)

// Document is one source of values, by the name that diagnostics show, and the list that they go to.
type Document struct {
	File string
	List *List
}

// Errorf adds an error at a place of the document.
func (d Document) Errorf(at yamldoc.Pos, code Code, hint, format string, args ...any) {
	d.report(SeverityError, at, code, hint, format, args...)
}

// Warnf adds a warning at a place of the document.
func (d Document) Warnf(at yamldoc.Pos, code Code, hint, format string, args ...any) {
	d.report(SeverityWarning, at, code, hint, format, args...)
}

func (d Document) report(severity Severity, at yamldoc.Pos, code Code, hint, format string, args ...any) {
	*d.List = append(*d.List, Diagnostic{
		File: d.File, Line: at.Line, Column: at.Column, Code: code,
		Message: fmt.Sprintf(format, args...), Hint: hint, Severity: severity,
	})
}

// Parse reads the tree of the document's content and adds the faults of its YAML. The tree is nil for a
// document that is empty or null, and for one so broken that there is none, for which ok is false.
func (d Document) Parse(data []byte) (root *yamldoc.Node, ok bool) {
	root, faults := yamldoc.Parse(data)
	for _, f := range faults {
		d.Errorf(f.Pos, codeOf(f.Kind), f.Hint, "%s", f.Message)
	}
	if root != nil && root.Kind == yamldoc.Null {
		return nil, true
	}
	return root, root != nil || len(faults) == 0
}

// ReadFile reads a file of at most one byte more than the reader of YAML accepts. The problem is "" or
// says why the file cannot be read.
func ReadFile(path string) (data []byte, problem string) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Problem(err)
	}
	defer f.Close()
	return Read(f)
}

// Read is [ReadFile] for what is open already.
func Read(r io.Reader) (data []byte, problem string) {
	data, err := io.ReadAll(io.LimitReader(r, yamldoc.MaxBytes+1))
	if err != nil {
		return nil, Problem(err)
	}
	return data, ""
}

// Problem words an error of reading without the path, which diagnostics show anyway.
func Problem(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return "the file cannot be read: " + err.Error()
}
