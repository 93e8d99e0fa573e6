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

// goCommand finds go test in a shell's text.
var goCommand = regexp.MustCompile(`(?:^|[\s;&|(])go\s+test\b`)

// takesPackages reports whether the command is given packages and no files: go test, unless it says itself where the files
// belong. What it runs beside the tests of the files is not counted then.
func (c Config) takesPackages() bool {
	return len(c.Files) > 0 && goCommand.MatchString(c.Command) && !strings.Contains(c.Command, argumentsRef)
}

// goFiles are the tests of files, by import path and the name of the function.
type goFiles map[string]map[string]bool

// goModule is the line of a go.mod that names the module.
var goModule = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)"?`)

// readGoFiles finds the tests that the files have. One that cannot be parsed has those that can be seen: its package does
// not build, and that counts.
func readGoFiles(workDir string, files []string) (goFiles, error) {
	root, err := os.OpenRoot(workDir)
	if err != nil {
		return nil, measureError("open the project: %w", err)
	}
	defer func() { _ = root.Close() }()
	all := goFiles{}
	for _, file := range files {
		file = path.Clean(file)
		source, err := root.ReadFile(file)
		if err != nil {
			return nil, measureError("files: %w", err)
		}
		in, err := importPath(root, path.Dir(file))
		if err != nil {
			return nil, err
		}
		if all[in] == nil {
			all[in] = map[string]bool{}
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
		if parsed == nil {
			return nil, measureError("files: %w", err)
		}
		for _, d := range parsed.Decls {
			if f, isFunc := d.(*ast.FuncDecl); isFunc && f.Recv == nil {
				all[in][f.Name.Name] = true
			}
		}
	}
	return all, nil
}

// importPath is that of a directory of the project, by the go.mod of its module.
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
			return "", measureError("files: %s lies in no Go module", dir).WithHint("go test counts the tests of files by the go.mod of their module")
		}
	}
}

// hasTest reports whether a test, or the one that it is a part of, is one of the files'; of no files it is any.
func (f goFiles) hasTest(in, test string) bool {
	function, _, _ := strings.Cut(test, "/")
	return f == nil || f[in][function]
}

// lacksPackage reports whether no file lies in the package.
func (f goFiles) lacksPackage(in string) bool { return f != nil && f[in] == nil }
