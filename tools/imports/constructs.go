package imports

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
)

// Construct is a construct that product files must not use.
type Construct struct {
	Name   string
	Reason string
	// Packages are the patterns of the packages to which the ban applies; empty for all.
	Packages []string
	// Except maps the files that may use it to their reasons. An unneeded exception is a finding.
	Except map[string]string
	// find calls report for each use in the files of one package.
	find func(files []File, report func(f File, node ast.Node, construct string))
}

// Constructs is the table of forbidden constructs.
var Constructs = []Construct{
	{
		Name:   "bare go",
		Reason: "a goroutine needs an owner that waits for it; use errgroup or WaitGroup.Go",
		find: each(func(_ File, n ast.Node) string {
			if _, ok := n.(*ast.GoStmt); ok {
				return "starts a goroutine with a bare go statement"
			}
			return ""
		}),
	},
	{
		Name:   "init",
		Reason: "importing a package has no effect; register by an explicit call",
		find: each(func(_ File, n ast.Node) string {
			if fn, ok := n.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				return "declares func init"
			}
			return ""
		}),
	},
	{
		Name:   "exit",
		Reason: "only main ends the process, with a documented exit code; return an error",
		Except: map[string]string{
			"plugin-sdk/serve/*.go":  "serve.Main is a plugin's main and ends with the host",
			"plugins/mock/mock/*.go": "tests ask this provider to crash",
		},
		find: each(func(f File, n ast.Node) string {
			call := calledName(n, "os.Exit", "syscall.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln")
			if call == "" || f.Syntax.Name.Name == "main" {
				return ""
			}
			return "calls " + call
		}),
	},
	{
		Name:     "clock",
		Packages: []string{"kernel/plan", "kernel/event", "kernel/state", "kernel/progress", "kernel/schedule"},
		Reason:   pureReason + "; time arrives inside events",
		find: each(func(_ File, n ast.Node) string {
			call := calledName(n, "time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.AfterFunc",
				"time.NewTimer", "time.NewTicker", "time.Tick")
			if call == "" {
				return ""
			}
			return "calls " + call
		}),
	},
	{
		Name:   "written variable",
		Reason: "no globals: changing data belongs to a value with an owner",
		find:   writtenVariables,
	},
	{
		Name:   "doc.go",
		Reason: "a package comment states the purpose, the limits and where to start",
		find: func(files []File, report func(File, ast.Node, string)) {
			documented := slices.ContainsFunc(files, func(f File) bool {
				return f.Syntax.Doc != nil && (path.Base(f.Path) == "doc.go" || f.Syntax.Name.Name == "main")
			})
			if !documented {
				report(files[0], files[0].Syntax.Name, "its package has no doc.go with a comment")
			}
		},
	},
}

// CheckConstructs reports the forbidden constructs in the product files, and unneeded exceptions.
func CheckConstructs(files []File, rules []Construct) []Violation {
	packages := map[string][]File{}
	for _, f := range files {
		if f.Product() {
			packages[f.Package] = append(packages[f.Package], f)
		}
	}
	var found []Violation
	for _, rule := range rules {
		used := map[string]bool{}
		for _, pkg := range slices.Sorted(maps.Keys(packages)) {
			if rule.Packages != nil && !slices.ContainsFunc(rule.Packages, func(r string) bool { return match(r, pkg) }) {
				continue
			}
			rule.find(packages[pkg], func(f File, node ast.Node, construct string) {
				if pattern := rule.exception(f.Path); pattern != "" {
					used[pattern] = true
					return
				}
				found = append(found, Violation{f.at(node.Pos()), construct, rule.Reason})
			})
		}
		for _, pattern := range slices.Sorted(maps.Keys(rule.Except)) {
			if !used[pattern] {
				found = append(found, Violation{pattern, "is an unneeded exception from " + rule.Name, "remove it"})
			}
		}
	}
	return found
}

func (r Construct) exception(file string) string {
	for pattern := range r.Except {
		if match(pattern, file) {
			return pattern
		}
	}
	return ""
}

// each returns a find function from a function that inspects one node and returns its fault, or "".
func each(look func(File, ast.Node) string) func([]File, func(File, ast.Node, string)) {
	return func(files []File, report func(File, ast.Node, string)) {
		for _, f := range files {
			for n := range ast.Preorder(f.Syntax) {
				if construct := look(f, n); construct != "" {
					report(f, n, construct)
				}
			}
		}
	}
}

// calledName returns the one of names that the node selects; selecting counts as calling.
func calledName(n ast.Node, names ...string) string {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	pkg, ok := sel.X.(*ast.Ident)
	if !ok || !slices.Contains(names, pkg.Name+"."+sel.Sel.Name) {
		return ""
	}
	return pkg.Name + "." + sel.Sel.Name
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
