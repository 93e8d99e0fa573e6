package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"iter"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// pkg is one package of ours, type-checked for this system without its tests.
type pkg struct {
	ImportPath string
	Name       string
	Export     string // file of export data
	Dir        string
	GoFiles    []string
	Deps       []string
	Ours       []string // packages of ours that it imports, directly or not, itself included

	files []file
	info  *types.Info
	types *types.Package
}

func (p *pkg) path() string { return strings.TrimPrefix(p.ImportPath, prefix) }

// loadPackages lists and type-checks all packages of the workspace. The go command builds the export data of imports.
func loadPackages(root string, tree []file) ([]*pkg, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Name,Export,Dir,GoFiles,Deps", "work")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	exports := map[string]string{}
	var ours []*pkg
	var decoding error
	for dec := json.NewDecoder(out); ; {
		p := &pkg{}
		if decoding = dec.Decode(p); decoding != nil {
			break
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, prefix) {
			ours = append(ours, p)
		}
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	if !errors.Is(decoding, io.EOF) {
		return nil, fmt.Errorf("read the output of go list: %w", decoding)
	}
	byName := map[string]file{}
	for _, f := range tree {
		byName[f.name] = f
	}
	for _, p := range ours {
		p.Ours = slices.DeleteFunc(append(p.Deps, p.ImportPath), func(s string) bool { return !strings.HasPrefix(s, prefix) })
		var syntax []*ast.File
		var fset *token.FileSet
		for _, name := range p.GoFiles {
			f, ok := byName[path.Join(p.path(), name)]
			if !ok {
				return nil, fmt.Errorf("package %s: %s is not in the tree", p.ImportPath, filepath.Join(p.Dir, name))
			}
			fset, syntax, p.files = f.fset, append(syntax, f.syntax), append(p.files, f)
		}
		if len(syntax) == 0 {
			continue
		}
		if err := p.check(fset, syntax, exports); err != nil {
			return nil, err
		}
	}
	return ours, nil
}

func (p *pkg) check(fset *token.FileSet, syntax []*ast.File, exports map[string]string) error {
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(name string) (io.ReadCloser, error) {
		if exports[name] == "" {
			return nil, fmt.Errorf("no export data for %s", name)
		}
		return os.Open(exports[name])
	})}
	p.info = &types.Info{
		Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{},
	}
	var err error
	if p.types, err = config.Check(p.ImportPath, fset, syntax, p.info); err != nil {
		return fmt.Errorf("type-check %s: %w", p.ImportPath, err)
	}
	return nil
}

// eventSwitches lists the types, or functions, outside of progress and event that switch on at least three event types.
func eventSwitches(packages []*pkg) result {
	var r result
	functions := 0
	for _, p := range packages {
		if base := path.Base(p.path()); base == "progress" || base == "event" {
			continue
		}
		seen := map[string]bool{}
		for f, fn := range p.productFunctions() {
			name := cmp.Or(receiver(fn), fn.Name.Name+"()")
			if seen[name] || !p.switchesOnEvents(fn) {
				continue
			}
			seen[name] = true
			if fn.Recv == nil {
				functions++
			}
			r.add(fmt.Sprintf("%s: %s", f.fset.Position(fn.Pos()), name))
		}
	}
	r.note = fmt.Sprintf("; %d of them functions", functions)
	return r
}

// productFunctions returns the functions and methods of the product files.
func (p *pkg) productFunctions() iter.Seq2[file, *ast.FuncDecl] {
	return func(yield func(file, *ast.FuncDecl) bool) {
		for _, f := range p.files {
			for _, d := range f.syntax.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && f.product() && !yield(f, fn) {
					return
				}
			}
		}
	}
}

func (p *pkg) switchesOnEvents(fn *ast.FuncDecl) bool {
	found := false
	ast.Inspect(fn, func(n ast.Node) bool {
		s, ok := n.(*ast.SwitchStmt)
		if !ok {
			return true
		}
		cases := 0
		for _, c := range s.Body.List {
			for _, e := range c.(*ast.CaseClause).List {
				if p.isEventType(e) {
					cases++
				}
			}
		}
		found = found || cases >= 3
		return true
	})
	return found
}

// isEventType reports whether an expression is a constant of event.Type.
func (p *pkg) isEventType(e ast.Expr) bool {
	tv := p.info.Types[e]
	named, ok := tv.Type.(*types.Named)
	return ok && tv.Value != nil && named.Obj().Name() == "Type" && named.Obj().Pkg().Path() == prefix+"kernel/event"
}
