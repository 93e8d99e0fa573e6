package imports

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Check reports every import of files that walls do not allow.
func Check(files []File, walls []Wall) []Violation {
	var found []Violation
	for _, f := range files {
		i := slices.IndexFunc(walls, func(w Wall) bool { return match(w.Room, f.Path) || match(w.Room, f.Package) })
		if i < 0 {
			found = append(found, Violation{f.Path, "belongs to no room", "add its room to the table of walls"})
			continue
		}
		for _, imported := range f.Imports {
			if !walls[i].allows(f, imported) {
				found = append(found, Violation{f.Path, "imports " + imported, walls[i].Reason})
			}
		}
	}
	return found
}

func (w Wall) allows(f File, imported string) bool {
	own := func(p string) bool { return match(p, imported) }
	if tree, ok := strings.CutSuffix(w.Room, "/..."); ok && own(firstElements(f.Package, strings.Count(tree, "/")+1)+"/...") {
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

// CheckSingles reports the second and further rooms whose product files have an import that should
// stay in one.
func CheckSingles(files []File, singles []Single) []Violation {
	var found []Violation
	for _, s := range singles {
		var packages []string
		for _, f := range files {
			if f.Product() && slices.Contains(f.Imports, s.Import) && !slices.Contains(packages, f.Package) {
				packages = append(packages, f.Package)
			}
		}
		if len(packages) > 1 {
			found = append(found, Violation{strings.Join(packages, ", "), "all import " + s.Import, s.Reason})
		}
	}
	return found
}

// CheckRings reports rooms that import each other in a ring through their packages. The compiler
// refuses rings of packages only.
func CheckRings(files []File) []Violation {
	below := map[string][]string{}
	for _, f := range files {
		from := room(f.Package)
		for _, imported := range f.Imports {
			to := room(imported)
			if f.Product() && from != to && !match("std", imported) && !match("others", imported) && !slices.Contains(below[from], to) {
				below[from] = append(below[from], to)
			}
		}
	}
	var found []Violation
	done := map[string]bool{}
	for _, start := range slices.Sorted(maps.Keys(below)) {
		if ring := findRing(below, done, nil, start); ring != nil {
			found = append(found, Violation{
				strings.Join(ring, " -> "), "import each other in a ring",
				"rooms that need each other are one room, or the lower one lacks an interface",
			})
		}
	}
	return found
}

func findRing(below map[string][]string, done map[string]bool, trail []string, at string) []string {
	if i := slices.Index(trail, at); i >= 0 {
		return append(slices.Clone(trail[i:]), at)
	}
	if done[at] {
		return nil
	}
	done[at] = true
	for _, next := range below[at] {
		if ring := findRing(below, done, append(trail, at), next); ring != nil {
			return ring
		}
	}
	return nil
}

// room is the part of the house that a package belongs to: engine/internal/attempt/x is attempt's.
func room(pkg string) string {
	if strings.HasPrefix(pkg, "engine/internal/") {
		return firstElements(pkg, 3)
	}
	return firstElements(pkg, 2)
}

// CheckLeaf reports what a go.mod has that the module of a leaf must not: replaced modules, modules of
// ours, or one of the heavy ones named.
func CheckLeaf(goMod string, heavy ...string) []Violation {
	var found []Violation
	for i, line := range strings.Split(goMod, "\n") {
		where := fmt.Sprintf("go.mod:%d", i+1)
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "module":
		case words[0] == "replace" || slices.Contains(words, "=>"):
			found = append(found, Violation{where, "replaces a module", "a replace does not reach those who import the leaf"})
		case slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, Prefix) }):
			found = append(found, Violation{where, "requires a module of ours", sdkReason})
		case slices.ContainsFunc(words, func(w string) bool { return slices.Contains(heavy, w) }):
			found = append(found, Violation{where, "requires " + strings.Join(words, " "), sdkReason})
		}
	}
	return found
}
