package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"iter"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

// pkg is one of our packages, type-checked for this system without its tests.
type pkg struct {
	*packages.Package
	files []file
}

func (p *pkg) path() string { return strings.TrimPrefix(p.PkgPath, prefix) }

// loadPackages loads all packages of the workspace from source, and other imports from export data.
func loadPackages(root string, tree []file) ([]*pkg, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	byName := map[string]file{}
	for _, f := range tree {
		byName[filepath.Join(root, f.Path)] = f
	}
	loaded, err := packages.Load(&packages.Config{
		Dir:  root,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
	}, "work")
	if err != nil {
		return nil, fmt.Errorf("load the packages: %w", err)
	}
	var ours []*pkg
	for _, l := range loaded {
		if len(l.Errors) > 0 {
			return nil, fmt.Errorf("load package %s: %w", l.PkgPath, l.Errors[0])
		}
		p := &pkg{Package: l}
		for _, syntax := range l.Syntax {
			name := l.Fset.Position(syntax.Package).Filename
			f, ok := byName[name]
			if !ok {
				return nil, fmt.Errorf("load package %s: %s is not in the tree", l.PkgPath, name)
			}
			f.Syntax, f.FileSet = syntax, l.Fset
			p.files = append(p.files, f)
		}
		ours = append(ours, p)
	}
	return ours, nil
}

// eventSwitches lists the types, or functions, outside of progress and event that switch on at least three event types.
func eventSwitches(packages []*pkg) result {
	var r result
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
			r.add(fmt.Sprintf("%s: %s", f.FileSet.Position(fn.Pos()), name))
		}
	}
	return r
}

// productFunctions returns the functions and methods of the product files.
func (p *pkg) productFunctions() iter.Seq2[file, *ast.FuncDecl] {
	return func(yield func(file, *ast.FuncDecl) bool) {
		for _, f := range p.files {
			for _, d := range f.Syntax.Decls {
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
	tv := p.TypesInfo.Types[e]
	named, ok := tv.Type.(*types.Named)
	return ok && tv.Value != nil && named.Obj().Name() == "Type" && named.Obj().Pkg().Path() == prefix+"kernel/event"
}
