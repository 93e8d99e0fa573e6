package yamldoc

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// Document is one source of values: its name in diagnostics, and the list that receives its diagnostics.
type Document struct {
	File        string
	Diagnostics *Diagnostics
}

// Errorf adds an error at a position of the document.
func (d Document) Errorf(at Pos, code Code, hint, format string, args ...any) {
	d.report(SeverityError, faultf(code, at, hint, format, args...))
}

// Warnf adds a warning at a position of the document.
func (d Document) Warnf(at Pos, code Code, hint, format string, args ...any) {
	d.report(SeverityWarning, faultf(code, at, hint, format, args...))
}

func (d Document) report(severity Severity, f Fault) {
	*d.Diagnostics = append(*d.Diagnostics, Diagnostic{
		File: d.File, Line: f.Line, Column: f.Column, Code: f.Code, Message: f.Message, Hint: f.Hint, Severity: severity,
	})
}

// Parse parses the document's content and adds its faults to the list. root is nil for a document that is empty, null
// or without a tree because of its faults; ok is false only in the last case.
func (d Document) Parse(data []byte) (root *Node, ok bool) {
	root, faults := Parse(data)
	for _, f := range faults {
		d.report(SeverityError, f)
	}
	if root != nil && root.Kind == Null {
		return nil, true
	}
	return root, root != nil || len(faults) == 0
}

// ReadFile reads a file, but at most one byte more than [MaxBytes], so that [Parse] refuses a longer file. problem is
// "" or the reason why the file cannot be read.
func ReadFile(path string) (data []byte, problem string) {
	f, err := os.Open(path)
	if err != nil {
		return nil, ReadProblem(err)
	}
	defer f.Close()
	return ReadAll(f)
}

// ReadAll is [ReadFile] for an open file.
func ReadAll(r io.Reader) (data []byte, problem string) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, ReadProblem(err)
	}
	return data, ""
}

// ReadProblem returns the message of a read error without the path, which diagnostics show anyway.
func ReadProblem(err error) string {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	return "the file cannot be read: " + err.Error()
}
