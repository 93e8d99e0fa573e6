package imports

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strings"
)

// Rule forbids a construct in product files.
type Rule struct {
	Name   string
	Reason string
	// Rooms are the patterns of the packages that the rule holds for; empty for all.
	Rooms []string
	// Except gives files that may do it, each with the reason why. One that is not needed any more is
	// itself a finding.
	Except map[string]string
	// find calls report for each breach in the files of one package.
	find func(files []File, report func(f File, node ast.Node, what string))
}

// Rules is the table of forbidden constructs.
var Rules = []Rule{
	{
		Name:   "bare go",
		Reason: "a goroutine needs an owner that waits for it: errgroup, or WaitGroup.Go",
		find: each(func(_ File, n ast.Node) string {
			if _, ok := n.(*ast.GoStmt); ok {
				return "starts a goroutine with a bare go statement"
			}
			return ""
		}),
	},
	{
		Name:   "init",
		Reason: "importing a package does nothing: registration is a call that somebody makes",
		find: each(func(_ File, n ast.Node) string {
			if fn, ok := n.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				return "declares func init"
			}
			return ""
		}),
	},
	{
		Name:   "exit",
		Reason: "only main ends the process, with a code of the documented table; everything else returns an error",
		Except: map[string]string{
			"plugin-sdk/serve/*.go":  "serve.Main is a plugin's main and ends when the host is gone",
			"plugins/mock/mock/*.go": "crashing is what this provider is asked to do",
		},
		find: each(func(f File, n ast.Node) string {
			call := callOf(n, "os.Exit", "syscall.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln")
			if call == "" || f.Syntax.Name.Name == "main" {
				return ""
			}
			return "calls " + call
		}),
	},
	{
		Name:   "clock",
		Rooms:  []string{"kernel/plan", "kernel/event", "kernel/state", "kernel/schedule"},
		Reason: pureReason + "; time arrives inside events",
		find: each(func(_ File, n ast.Node) string {
			call := callOf(n, "time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.AfterFunc",
				"time.NewTimer", "time.NewTicker", "time.Tick")
			if call == "" {
				return ""
			}
			return "calls " + call
		}),
	},
	{
		Name:   "written variable",
		Reason: "no globals: what changes belongs to a value that somebody owns",
		find:   writtenVariables,
	},
	{
		Name:   "package name",
		Reason: "a package is named for what it is about, a singular noun, or nobody knows what belongs in it",
		find: func(files []File, report func(File, ast.Node, string)) {
			vague := []string{"util", "utils", "helper", "helpers", "common", "types", "base", "misc", "shared"}
			if name := files[0].Syntax.Name; slices.Contains(vague, name.Name) {
				report(files[0], name, "is named "+name.Name)
			}
		},
	},
	{
		Name:   "doc.go",
		Reason: "a reader wants to know what a package does, what it does not, and where to start",
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

// CheckRules reports where the product files among files break rules, and exceptions nobody needs.
func CheckRules(files []File, rules []Rule) []Violation {
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
			if rule.Rooms != nil && !slices.ContainsFunc(rule.Rooms, func(r string) bool { return match(r, pkg) }) {
				continue
			}
			rule.find(packages[pkg], func(f File, node ast.Node, what string) {
				if pattern := rule.exception(f.Path); pattern != "" {
					used[pattern] = true
					return
				}
				found = append(found, Violation{f.at(node.Pos()), what, rule.Reason})
			})
		}
		for _, pattern := range slices.Sorted(maps.Keys(rule.Except)) {
			if !used[pattern] {
				found = append(found, Violation{pattern, "is an exception from " + rule.Name + " that nothing needs", "remove it"})
			}
		}
	}
	return found
}

func (r Rule) exception(file string) string {
	for pattern := range r.Except {
		if match(pattern, file) {
			return pattern
		}
	}
	return ""
}

// each makes a find from a function that looks at one node and returns what is wrong with it, or "".
func each(look func(File, ast.Node) string) func([]File, func(File, ast.Node, string)) {
	return func(files []File, report func(File, ast.Node, string)) {
		for _, f := range files {
			for n := range ast.Preorder(f.Syntax) {
				if what := look(f, n); what != "" {
					report(f, n, what)
				}
			}
		}
	}
}

// callOf is which of names, as written, the node selects; selecting is as bad as calling.
func callOf(n ast.Node, names ...string) string {
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

// mentions reports whether an expression selects from one of the packages, functions that compute
// once (sync.OnceValue) excepted: they are constants that are made late.
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
