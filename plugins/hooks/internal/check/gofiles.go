package check

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
)

// goFiles maps the import paths of Go files to the names of their functions.
type goFiles map[string]map[string]bool

// goModule matches the module line of a go.mod.
var goModule = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)"?`)

// readGoFiles returns the functions of the files, including all tests. Of a file with syntax errors it returns the
// functions that can be parsed: the package does not build, and that counts as a failure.
func readGoFiles(root *os.Root, files []string) (goFiles, error) {
	all := goFiles{}
	for _, file := range files {
		file = path.Clean(file)
		source, err := root.ReadFile(file)
		if err != nil {
			return nil, measureError("files: %w", err)
		}
		pkg, err := importPath(root, path.Dir(file))
		if err != nil {
			return nil, err
		}
		if all[pkg] == nil {
			all[pkg] = map[string]bool{}
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
		if parsed == nil {
			return nil, measureError("files: %w", err)
		}
		for _, d := range parsed.Decls {
			if f, isFunc := d.(*ast.FuncDecl); isFunc && f.Recv == nil {
				all[pkg][f.Name.Name] = true
			}
		}
	}
	return all, nil
}

// importPath returns the import path of a directory of the project, by the go.mod of its module.
func importPath(root *os.Root, dir string) (string, error) {
	for at, below := dir, "."; ; at, below = path.Dir(at), path.Join(path.Base(at), below) {
		text, err := root.ReadFile(path.Join(at, "go.mod"))
		if m := goModule.FindSubmatch(text); m != nil {
			return path.Join(string(m[1]), below), nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", measureError("files: %w", err)
		}
		if at == "." {
			return "", measureError("files: %s is in no Go module", dir).WithHint("add a go.mod, or name files of a Go module")
		}
	}
}

// hasTest reports whether a test or its parent test is in the files; nil files have every test.
func (f goFiles) hasTest(pkg, test string) bool {
	function, _, _ := strings.Cut(test, "/")
	return f == nil || f[pkg][function]
}

// lacksPackage reports whether no file is in the package.
func (f goFiles) lacksPackage(pkg string) bool { return f != nil && f[pkg] == nil }
