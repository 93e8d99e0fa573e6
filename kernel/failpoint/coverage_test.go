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

const modulePrefix = "github.com/dodo-digital/agent-pipelines/"

// exemptPackages are the packages that write nothing in a session, with the files that they write instead.
var exemptPackages = map[string]string{
	"engine/crashtest":          "scratch copies of a project, by a program that runs no engine",
	"engine/internal/settings":  "config.yaml of the user and the project, by config set",
	"kernel/pluginhost/catalog": "a cache of plugin descriptions, which is rebuilt, and the user's files: trusted.json and plugins.lock, by trust and plugins lock",
	"kernel/pluginhost/launch":  "the directory of a plugin's socket, which ends with its process",
	"kernel/pluginhost/process": "the directory of a plugin's socket; the remains of a dead kernel are swept (TestCrashedSocketDir)",
	"engine/internal/effect":    "copies of shipped stages outside of the project; package store writes what is in the session",
	"engine/internal/signing":   "the user's keys and the heads of journals outside of the project; package journal has points around a head",
	"engine/internal/snapshot":  "the repository of snapshots outside of the project, and copies of files for one run of tests",
	"engine/internal/sandbox":   "the process that it confines, and control groups",
	"engine/enginetest":         "the project of a test",
}

// writeFuncs are the functions that change a file system.
var writeFuncs = set(
	"os.WriteFile", "os.Create", "os.CreateTemp", "os.Rename", "os.Remove", "os.RemoveAll", "os.Mkdir", "os.MkdirAll", "os.MkdirTemp",
	"os.Link", "os.Symlink", "os.Truncate", "os.CopyFS",
	"(*os.Root).WriteFile", "(*os.Root).Create", "(*os.Root).Rename", "(*os.Root).Remove", "(*os.Root).RemoveAll",
	"(*os.Root).Mkdir", "(*os.Root).MkdirAll", "(*os.Root).Link", "(*os.Root).Symlink",
	"(*os.File).Write", "(*os.File).WriteAt", "(*os.File).WriteString", "(*os.File).ReadFrom", "(*os.File).Truncate",
	"golang.org/x/sys/unix.Write", "golang.org/x/sys/unix.Rename", "golang.org/x/sys/unix.Renameat2", "golang.org/x/sys/unix.Unlink",
	"golang.org/x/sys/unix.Mkdir", "golang.org/x/sys/unix.Ftruncate", "syscall.Write", "syscall.Rename", "syscall.Unlink", "syscall.Mkdir",
)

// openFuncs are functions that change a file system if their flags, the second argument, say so.
var openFuncs = set("os.OpenFile", "(*os.Root).OpenFile")

// pluginCalls are the calls of the plugin host to a plugin.
var pluginCalls = set(
	sdk("Provider", "Execute"), sdk("Termination", "Decide"), sdk("HookAction", "Run"), sdk("Releaser", "Release"),
	sdk("Validator", "Validate"), sdk("Initializer", "Init"),
)

func sdk(kind, method string) string {
	return "(" + modulePrefix + "plugin-sdk." + kind + ")." + method
}

func set(names ...string) map[string]bool {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	return all
}

// D2: every function that writes in a session or calls a plugin has a crash point, or announces its change of
// the disk to package failpoint.
func TestEveryWriteHasAPoint(t *testing.T) {
	packages, exports := list(t)
	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	used, points := map[string]bool{}, 0
	for _, p := range packages {
		pkg := strings.TrimPrefix(p.ImportPath, modulePrefix)
		h := inspector{files: files, uses: map[*ast.Ident]types.Object{}, types: map[ast.Expr]types.TypeAndValue{}, host: strings.HasPrefix(pkg, "kernel/pluginhost")}
		for _, f := range h.functions(t, p, imports) {
			points += f.points
			switch _, free := exemptPackages[pkg]; {
			case free && f.writes != "":
				used[pkg] = true
			case f.writes != "" && f.points == 0:
				t.Errorf("%s: %s in %s has no crash point", files.Position(f.at), f.writes, f.name)
			case f.calls != "" && f.points < 2:
				t.Errorf("%s: %s in %s has no crash point before and after it", files.Position(f.at), f.calls, f.name)
			}
		}
	}
	for pkg, why := range exemptPackages {
		if !used[pkg] {
			t.Errorf("%s writes nothing, and is left out because of %s", pkg, why)
		}
	}
	if points < 40 {
		t.Errorf("only %d crash points were seen: the test is blind", points)
	}
}

type goPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// list returns the packages of kernel and engine, and the export data of all packages.
func list(t *testing.T) (packages []goPackage, exports map[string]string) {
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
		var p goPackage
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

// inspector inspects the functions of one package.
type inspector struct {
	files *token.FileSet
	uses  map[*ast.Ident]types.Object
	types map[ast.Expr]types.TypeAndValue
	host  bool // the package hosts plugins
}

// function is a summary of a function: its last write, its last call of a plugin, and its number of calls of package
// failpoint.
type function struct {
	name          string
	at            token.Pos
	writes, calls string
	points        int
}

func (h *inspector) functions(t *testing.T, p goPackage, imports types.Importer) []function {
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
				all = append(all, h.summarize(d))
			}
		}
	}
	return all
}

func (h *inspector) summarize(d *ast.FuncDecl) function {
	f := function{name: d.Name.Name, at: d.Pos()}
	ast.Inspect(d.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name := h.callee(call)
		switch {
		case strings.HasPrefix(name, modulePrefix+"kernel/failpoint."):
			f.points++
		case writeFuncs[name], openFuncs[name] && h.opensToWrite(call), h.writesInto(name, call):
			f.writes = name
		case h.host && pluginCalls[name]:
			f.calls = name
		}
		return true
	})
	return f
}

// callee returns the full name of the called function, "" if it has none.
func (h *inspector) callee(call *ast.CallExpr) string {
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

// opensToWrite reports whether the flags are unknown or those of a writer.
func (h *inspector) opensToWrite(call *ast.CallExpr) bool {
	flags, known := constant.Int64Val(constant.ToInt(value(h.types[call.Args[1]].Value)))
	return !known || flags&int64(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND) != 0
}

func value(v constant.Value) constant.Value {
	if v == nil {
		return constant.MakeUnknown()
	}
	return v
}

// writesInto reports whether a function of fmt or io writes to an open file.
func (h *inspector) writesInto(name string, call *ast.CallExpr) bool {
	if !strings.HasPrefix(name, "fmt.Fp") && !strings.HasPrefix(name, "io.Copy") && name != "io.WriteString" {
		return false
	}
	return len(call.Args) > 0 && h.types[call.Args[0]].Type.String() == "*os.File"
}
