package imports

import (
	"path"
	"slices"
	"strings"
)

// Check returns a violation for every import that the rules do not allow, and for every file without a rule.
func Check(files []File, rules []Rule) []Violation {
	var found []Violation
	for _, f := range files {
		i := slices.IndexFunc(rules, func(w Rule) bool { return match(w.Package, f.Path) || match(w.Package, f.Package) })
		if i < 0 {
			found = append(found, Violation{f.Path, "has no rule", "add its package to the table of import rules"})
			continue
		}
		for _, imported := range f.Imports {
			if !rules[i].allows(f, imported) {
				found = append(found, Violation{f.Path, "imports " + imported, rules[i].Reason})
			}
		}
	}
	return found
}

func (w Rule) allows(f File, imported string) bool {
	own := func(p string) bool { return match(p, imported) }
	if tree, ok := strings.CutSuffix(w.Package, "/..."); ok && own(firstElements(f.Package, strings.Count(tree, "/")+1)+"/...") {
		return true
	}
	if f.Test && (imported == f.Package || slices.ContainsFunc(forTests, own)) {
		return true
	}
	return slices.ContainsFunc(w.Allow, own) && (f.Test || !slices.ContainsFunc(w.Deny, own))
}

// match reports whether the pattern covers an import path, a package or a file.
func match(pattern, name string) bool {
	first, _, _ := strings.Cut(name, "/")
	ours := slices.Contains([]string{"plugin-sdk", "kernel", "engine", "plugins", "cmd", "bench", "test", "tools"}, first)
	switch pattern {
	case "std":
		return !ours && !strings.Contains(first, ".")
	case "others":
		return strings.Contains(first, ".")
	}
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		pattern, name = tree, firstElements(name, strings.Count(tree, "/")+1)
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

func firstElements(name string, n int) string {
	parts := strings.Split(name, "/")
	return strings.Join(parts[:min(n, len(parts))], "/")
}
