package failpoint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	ours = "github.com/dodo-digital/agent-pipelines/"
)

// outside are the packages that write nothing in a session, and what they write instead.
var outside = map[string]string{
	"engine/crashtest":          "scratch copies of a project, by a program that runs no engine",
	"engine/internal/settings":  "config.yaml of the user and the project, by config set",
	"kernel/pluginhost/catalog": "a cache of plugin descriptions, which is rebuilt, and the user's directory of plugins, by plugins install",
	"kernel/pluginhost/launch":  "the directory of a plugin's socket, which ends with its process",
	"kernel/pluginhost/process": "the same; what a dead kernel left is swept (TestCrashedSocketDir)",
	"kernel/pluginhost/trust":   "the user's trusted.json and plugins.lock, by trust and plugins lock",
	"engine/internal/sandbox":   "the process that it confines, and control groups",
	"engine/enginetest":         "the project of a test",
}

// writing are the functions that change a file system.
var writing = set(
	"os.WriteFile", "os.Create", "os.CreateTemp", "os.Rename", "os.Remove", "os.RemoveAll", "os.Mkdir", "os.MkdirAll", "os.MkdirTemp",
	"os.Link", "os.Symlink", "os.Truncate", "os.CopyFS",
	"(*os.Root).WriteFile", "(*os.Root).Create", "(*os.Root).Rename", "(*os.Root).Remove", "(*os.Root).RemoveAll",
	"(*os.Root).Mkdir", "(*os.Root).MkdirAll", "(*os.Root).Link", "(*os.Root).Symlink",
	"(*os.File).Write", "(*os.File).WriteAt", "(*os.File).WriteString", "(*os.File).ReadFrom", "(*os.File).Truncate",
	"golang.org/x/sys/unix.Write", "golang.org/x/sys/unix.Rename", "golang.org/x/sys/unix.Renameat2", "golang.org/x/sys/unix.Unlink",
	"golang.org/x/sys/unix.Mkdir", "golang.org/x/sys/unix.Ftruncate", "syscall.Write", "syscall.Rename", "syscall.Unlink", "syscall.Mkdir",
)

// opening are those that do so if their flags, the second argument, say so.
var opening = set("os.OpenFile", "(*os.Root).OpenFile")

// calling are the calls that go to a plugin, where its host makes them.
var calling = set(
	sdk("Provider", "Execute"), sdk("Termination", "Decide"), sdk("HookAction", "Run"), sdk("Releaser", "Release"),
	sdk("Validator", "Validate"), sdk("Initializer", "Init"),
)

func sdk(kind, method string) string { return "(" + ours + "plugin-sdk." + kind + ")." + method }

func set(names ...string) map[string]bool {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	return all
}

// D2: every function of the kernel that writes in a session, and every one that calls a plugin, has a crash point, or
// tells package crash what it does to the disk: the matrix knows of no others.
func TestEveryWriteHasAPoint(t *testing.T) {
	packages, exports := list(t)
	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	used, points := map[string]bool{}, 0
	for _, p := range packages {
		room := strings.TrimPrefix(p.ImportPath, ours)
		h := house{files: files, uses: map[*ast.Ident]types.Object{}, types: map[ast.Expr]types.TypeAndValue{}, host: strings.HasPrefix(room, "kernel/pluginhost")}
		for _, f := range h.functions(t, p, imports) {
			points += f.points
			switch _, free := outside[room]; {
			case free && f.writes != "":
				used[room] = true
			case f.writes != "" && f.points == 0:
				t.Errorf("%s: %s in %s has no crash point", files.Position(f.at), f.writes, f.name)
			case f.calls != "" && f.points < 2:
				t.Errorf("%s: %s in %s has no crash point before and after it", files.Position(f.at), f.calls, f.name)
			}
		}
	}
	for room, why := range outside {
		if !used[room] {
			t.Errorf("%s writes nothing, and is left out because of %s", room, why)
		}
	}
	if points < 40 {
		t.Errorf("only %d crash points were seen: the test is blind", points)
	}
}

type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// list are the packages of the kernel, and where the compiler has put what all of them and their imports export.
func list(t *testing.T) (packages []listed, exports map[string]string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,DepOnly", "./kernel/...", "./engine/...")
	cmd.Dir = filepath.Join("..", "..")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	exports = map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, exports
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			packages = append(packages, p)
		}
	}
}

// house looks at the functions of one package.
type house struct {
	files *token.FileSet
	uses  map[*ast.Ident]types.Object
	types map[ast.Expr]types.TypeAndValue
	host  bool // the package hosts plugins
}

// function is what a function does: the first thing that it writes with, the first call of a plugin, and its points.
type function struct {
	name          string
	at            token.Pos
	writes, calls string
	points        int
}

func (h *house) functions(t *testing.T, p listed, imports types.Importer) []function {
	t.Helper()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(h.files, filepath.Join(p.Dir, name), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	c := types.Config{Importer: imports}
	if _, err := c.Check(p.ImportPath, h.files, parsed, &types.Info{Uses: h.uses, Types: h.types}); err != nil {
		t.Fatal(err)
	}
	var all []function
	for _, f := range parsed {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				all = append(all, h.look(d))
			}
		}
	}
	return all
}

func (h *house) look(d *ast.FuncDecl) function {
	f := function{name: d.Name.Name, at: d.Pos()}
	ast.Inspect(d.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := h.callee(call)
		switch {
		case strings.HasPrefix(name, ours+"kernel/failpoint."):
			f.points++
		case writing[name], opening[name] && h.opensToWrite(call), h.writesInto(name, call):
			f.writes = name
		case h.host && calling[name]:
			f.calls = name
		}
		return true
	})
	return f
}

// callee is the full name of the function that is called, "" where it has none.
func (h *house) callee(call *ast.CallExpr) string {
	var id *ast.Ident
	switch f := call.Fun.(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		return ""
	}
	if f, ok := h.uses[id].(*types.Func); ok {
		return f.FullName()
	}
	return ""
}

// opensToWrite reports whether the flags are other than those of a reader, or not known.
func (h *house) opensToWrite(call *ast.CallExpr) bool {
	flags, known := constant.Int64Val(constant.ToInt(value(h.types[call.Args[1]].Value)))
	return !known || flags&int64(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND) != 0
}

func value(v constant.Value) constant.Value {
	if v == nil {
		return constant.MakeUnknown()
	}
	return v
}

// writesInto reports whether a function of fmt or io is given an open file to write to.
func (h *house) writesInto(name string, call *ast.CallExpr) bool {
	if !strings.HasPrefix(name, "fmt.Fp") && !strings.HasPrefix(name, "io.Copy") && name != "io.WriteString" {
		return false
	}
	return len(call.Args) > 0 && h.types[call.Args[0]].Type.String() == "*os.File"
}
