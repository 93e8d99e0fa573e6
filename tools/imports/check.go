package imports

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Check reports every import of files that the rules do not allow.
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

// CheckCycles reports layers that import each other in a cycle through their packages. The compiler
// refuses only cycles of packages.
func CheckCycles(files []File) []Violation {
	below := map[string][]string{}
	for _, f := range files {
		from := layer(f.Package)
		for _, imported := range f.Imports {
			to := layer(imported)
			if f.Product() && from != to && !match("std", imported) && !match("others", imported) && !slices.Contains(below[from], to) {
				below[from] = append(below[from], to)
			}
		}
	}
	var found []Violation
	done := map[string]bool{}
	for _, start := range slices.Sorted(maps.Keys(below)) {
		if cycle := findCycle(below, done, nil, start); cycle != nil {
			found = append(found, Violation{
				strings.Join(cycle, " -> "), "import each other in a cycle",
				"merge them, or give the lower one an interface",
			})
		}
	}
	return found
}

func findCycle(below map[string][]string, done map[string]bool, trail []string, at string) []string {
	if i := slices.Index(trail, at); i >= 0 {
		return append(slices.Clone(trail[i:]), at)
	}
	if done[at] {
		return nil
	}
	done[at] = true
	for _, next := range below[at] {
		if cycle := findCycle(below, done, append(trail, at), next); cycle != nil {
			return cycle
		}
	}
	return nil
}

// layer returns the part of the code base that a package belongs to: journal for
// engine/internal/attempt/x.
func layer(pkg string) string {
	if strings.HasPrefix(pkg, "engine/internal/") {
		return firstElements(pkg, 3)
	}
	return firstElements(pkg, 2)
}

// CheckLeaf reports faults in the go.mod of a leaf module: replaced modules, our modules, and
// modules in heavy.
func CheckLeaf(goMod string, heavy ...string) []Violation {
	var found []Violation
	for i, line := range strings.Split(goMod, "\n") {
		where := fmt.Sprintf("go.mod:%d", i+1)
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "module":
		case words[0] == "replace" || slices.Contains(words, "=>"):
			found = append(found, Violation{where, "replaces a module", "a replace does not reach importers of the leaf"})
		case slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, Prefix) }):
			found = append(found, Violation{where, "requires a module of ours", sdkReason})
		case slices.ContainsFunc(words, func(w string) bool { return slices.Contains(heavy, w) }):
			found = append(found, Violation{where, "requires " + strings.Join(words, " "), sdkReason})
		}
	}
	return found
}
