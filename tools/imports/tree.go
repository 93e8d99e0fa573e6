package imports

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Prefix begins the import paths of all our modules. The rest of such a path is the directory.
const Prefix = "github.com/dodo-digital/agent-pipelines/"

// Violation is one finding: its place, the construct and the reason of the rule.
type Violation struct {
	Place     string // a file with or without line
	Construct string
	Reason    string
}

// String returns the finding as one line.
func (v Violation) String() string { return fmt.Sprintf("%s: %s: %s", v.Place, v.Construct, v.Reason) }

// File is a Go file of the repository. Paths are slash-separated and relative to its root.
type File struct {
	Path    string
	Package string   // the directory
	Imports []string // ours without [Prefix], others unchanged
	Test    bool     // its name ends in _test.go
	Source  []byte
	Syntax  *ast.File
	FileSet *token.FileSet
}

// at returns the file and line of a position in f.
func (f File) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", f.Path, f.FileSet.Position(pos).Line)
}

// Product reports whether f is handwritten code of this repository, but neither a test nor an example.
func (f File) Product() bool {
	return !f.Test && !strings.HasPrefix(f.Path, "examples/") && !ast.IsGenerated(f.Syntax)
}

// Load parses all Go files below root, ordered by path. Like the go command, it skips directories that are named
// testdata or begin with a dot or an underscore.
func Load(root fs.FS) ([]File, error) {
	var files []File
	fset := token.NewFileSet()
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (d.Name() == "testdata" || strings.ContainsAny(d.Name()[:1], "._")):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		f, err := parse(fset, root, name)
		files = append(files, f)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("load the tree: %w", err)
	}
	return files, nil
}

func parse(fset *token.FileSet, root fs.FS, name string) (File, error) {
	src, err := fs.ReadFile(root, name)
	if err != nil {
		return File{}, err
	}
	syntax, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return File{}, err
	}
	f := File{
		Path: name, Package: path.Dir(name), Source: src, Syntax: syntax, FileSet: fset,
		Test: strings.HasSuffix(name, "_test.go"),
	}
	for _, spec := range syntax.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return File{}, fmt.Errorf("import of %s: %w", name, err)
		}
		f.Imports = append(f.Imports, strings.TrimPrefix(imported, Prefix))
	}
	return f, nil
}
