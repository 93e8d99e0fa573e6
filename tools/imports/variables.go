package imports

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
)

// writtenVariables reports package-level variables that functions of the package change, and locks
// and atomics. Tables and sentinel errors, which are only read, are allowed.
func writtenVariables(files []File, report func(File, ast.Node, string)) {
	uses, scope := resolve(files)
	for _, f := range files {
		for _, decl := range f.Syntax.Decls {
			reportShared(decl, func(name *ast.Ident) {
				report(f, name, "declares the lock or atomic "+name.Name+" at package level")
			})
		}
		for n := range ast.Preorder(f.Syntax) {
			for _, target := range written(n) {
				id := rootIdent(target)
				if id == nil {
					continue
				}
				if v, ok := uses[id].(*types.Var); ok && v.Parent() == scope {
					report(f, id, "changes the package-level variable "+id.Name)
				}
			}
		}
	}
}

// resolve resolves the identifiers. Imports stay unresolved, because only scopes are needed.
func resolve(files []File) (map[*ast.Ident]types.Object, *types.Scope) {
	syntax := make([]*ast.File, len(files))
	for i, f := range files {
		syntax[i] = f.Syntax
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, err := config.Check(files[0].Package, files[0].fset, syntax, info)
	_ = err // the first error that an unresolved import causes
	return info.Uses, pkg.Scope()
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not resolved") }

// reportShared calls report for each variable of a package-level declaration whose type only makes
// sense for changing data.
func reportShared(decl ast.Decl, report func(*ast.Ident)) {
	gen, ok := decl.(*ast.GenDecl)
	if !ok || gen.Tok != token.VAR {
		return
	}
	for _, spec := range gen.Specs {
		v := spec.(*ast.ValueSpec)
		shared := v.Type != nil && mentions(v.Type, "sync", "atomic")
		for _, value := range v.Values {
			lit, ok := value.(*ast.CompositeLit)
			shared = shared || ok && lit.Type != nil && mentions(lit.Type, "sync", "atomic")
		}
		if shared {
			report(v.Names[0])
		}
	}
}

// written returns the expressions that a node changes.
func written(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return []ast.Expr{n.Key, n.Value}
		}
	case *ast.CallExpr:
		if fn, ok := n.Fun.(*ast.Ident); ok && (fn.Name == "delete" || fn.Name == "clear") && len(n.Args) > 0 {
			return n.Args[:1]
		}
	}
	return nil
}

// rootIdent returns the variable that a[i].b, *a and the like begin with, or nil.
func rootIdent(expr ast.Expr) *ast.Ident {
	switch e := expr.(type) {
	case *ast.Ident:
		return e
	case *ast.IndexExpr:
		return rootIdent(e.X)
	case *ast.SelectorExpr:
		return rootIdent(e.X)
	case *ast.StarExpr:
		return rootIdent(e.X)
	case *ast.ParenExpr:
		return rootIdent(e.X)
	default:
		return nil
	}
}
