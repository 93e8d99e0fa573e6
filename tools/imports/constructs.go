package imports

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// startup is the package that acts before other packages are initialized.
const startup = "cmd/agent-pipelines/internal/startup"

// constructs are the constructs that product files must not have, with the reasons. Each function calls report for
// the uses in the files of one package. The last three are also rules of the linter, which does not read the files
// for other systems and build tags.
var constructs = []struct {
	reason string
	find   func(files []File, report func(f File, node ast.Node, construct string))
}{
	{"a goroutine needs an owner that waits for it; use errgroup or WaitGroup.Go", bareGoroutines},
	{"no globals: changing data belongs to a value with an owner", writtenVariables},
	{"a package comment states the purpose, the limits and where to start", missingDoc},
	{"importing a package has no effect; register by an explicit call", inits},
	{"only main ends the process, with a documented exit code; return an error", uses(`os\.Exit|syscall\.Exit|log\.Fatal.*`, func(f File) bool {
		return f.Syntax.Name.Name != "main" && !slices.Contains([]string{startup, "plugin-sdk/serve", "plugins/mock/mock"}, f.Package)
	})},
	{pureReason + "; time arrives inside events", uses(`time\.(Now|Since|Until|Sleep|After|AfterFunc|NewTimer|NewTicker|Tick)`, func(f File) bool {
		return slices.Contains([]string{"kernel/plan", "kernel/event", "kernel/state", "kernel/progress", "kernel/schedule"}, f.Package)
	})},
}

// CheckConstructs returns a violation for every forbidden construct in the product files.
func CheckConstructs(files []File) []Violation {
	packages := map[string][]File{}
	for _, f := range files {
		if f.Product() {
			packages[f.Package] = append(packages[f.Package], f)
		}
	}
	var found []Violation
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		for _, c := range constructs {
			c.find(packages[pkg], func(f File, node ast.Node, construct string) {
				found = append(found, Violation{f.at(node.Pos()), construct, c.reason})
			})
		}
	}
	return found
}

func bareGoroutines(files []File, report func(File, ast.Node, string)) {
	for _, f := range files {
		for n := range ast.Preorder(f.Syntax) {
			if _, ok := n.(*ast.GoStmt); ok {
				report(f, n, "starts a goroutine with a bare go statement")
			}
		}
	}
}

func missingDoc(files []File, report func(File, ast.Node, string)) {
	documented := slices.ContainsFunc(files, func(f File) bool {
		return f.Syntax.Doc != nil && (path.Base(f.Path) == "doc.go" || f.Syntax.Name.Name == "main")
	})
	if !documented {
		report(files[0], files[0].Syntax.Name, "its package has no doc.go with a comment")
	}
}

// inits reports func init.
func inits(files []File, report func(File, ast.Node, string)) {
	for _, f := range files {
		if f.Package == startup {
			continue
		}
		for _, decl := range f.Syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				report(f, fn, "declares func init")
			}
		}
	}
}

// uses returns a function that reports selectors like os.Exit that match names, in the files to which the rule applies.
func uses(names string, applies func(File) bool) func([]File, func(File, ast.Node, string)) {
	expr := regexp.MustCompile("^(" + names + ")$")
	return func(files []File, report func(File, ast.Node, string)) {
		for _, f := range files {
			for n := range ast.Preorder(f.Syntax) {
				if sel, ok := n.(*ast.SelectorExpr); ok && applies(f) && expr.MatchString(types.ExprString(sel)) {
					report(f, sel, "uses "+types.ExprString(sel))
				}
			}
		}
	}
}

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

// resolve returns the objects of the identifiers and the package's scope. Imports stay unresolved, because only
// scopes are needed.
func resolve(files []File) (map[*ast.Ident]types.Object, *types.Scope) {
	syntax := make([]*ast.File, len(files))
	for i, f := range files {
		syntax[i] = f.Syntax
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, err := config.Check(files[0].Package, files[0].FileSet, syntax, info)
	_ = err // the first error that an unresolved import causes
	return info.Uses, pkg.Scope()
}

type noImports struct{}

func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not resolved") }

// reportShared calls report for each variable of a package-level declaration whose type is from the packages sync or
// atomic. Such types only make sense for data that changes.
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

// rootIdent returns the identifier a of expressions such as a[i].b and *a, or nil.
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

// mentions reports whether an expression selects from one of the packages. Lazy constants
// (sync.OnceValue) are exempt.
func mentions(expr ast.Node, packages ...string) bool {
	if expr == nil {
		return false
	}
	for n := range ast.Preorder(expr) {
		if sel, ok := n.(*ast.SelectorExpr); ok && !strings.HasPrefix(sel.Sel.Name, "Once") {
			if pkg, ok := sel.X.(*ast.Ident); ok && slices.Contains(packages, pkg.Name) {
				return true
			}
		}
	}
	return false
}
