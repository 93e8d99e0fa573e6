package main

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/tools/wordlist"
)

// row is one measure with its recorded bound. Raise a bound in a separate commit, with the reason.
type row struct {
	label   string
	method  string
	bound   int
	starred bool
}

// rows are the rows in the order of the table. measure returns their results in the same order.
var rows = []row{
	{"code lines of module kernel", "files below kernel/", 23700, true},
	{"code lines of module engine", "files below engine/", 27300, true},
	{"code lines of cmd", "files below cmd/", 21200, true},
	{"code lines of the repository", "all modules and examples", 104900, false},
	{"test lines", "all lines of *_test.go; *.txtar not included", 79400, false},
	{"packages of the kernel", "as go list ./kernel/... counts them", 20, true},
	{"files of at most 30 code lines", "kernel, engine, cmd, plugin-sdk, plugins; without doc.go, main.go, build tags, system suffixes", 40, true},
	{"packages over 2500 code lines", "all modules", 0, true},
	{"back references in a package of kernel, engine or main", "worst package; method in cycles.go", 0, true},
	{"back references in any package", "worst package; method in cycles.go", 3, true},
	{"methods of the widest type", "all modules that ship", 30, false},
	{"fields of the largest struct", "all modules that ship; without *Options, *Config and grammars of verbs", 15, false},
	{"parameters of the longest list", "functions and methods of all modules that ship; without receivers and literals", 6, false},
	{"types that switch on event types", "receivers, or functions, outside of progress and event with at least 3 cases of event.Type", 5, false},
	{"the command's name in strings", "kernel, engine, plugin-sdk; without the repository's name and the formats in tree.go", 0, true},
	{"hits of the word list", "as make words counts them", 0, true},
	{"packages from engine.Run to the stream", "our packages with a function on a call path from (*engine.Engine).Run to the opening of the provider's stream; method in callpath.go", 25, false},
}

func measure(root string, tree []file, packages []*pkg) ([]result, error) {
	shipped := func(f file) bool {
		return f.product() && f.below("kernel", "engine", "cmd", "plugin-sdk", "plugins")
	}
	all, tests := result{}, result{}
	var small result
	kernelPackages, perPackage := map[string]bool{}, map[string]int{}
	for _, f := range tree {
		if f.Test {
			tests.now += f.lines
		}
		if f.below("kernel") {
			kernelPackages[path.Dir(f.Path)] = true
		}
		if !f.product() {
			continue
		}
		all.now += f.code
		perPackage[path.Dir(f.Path)] += f.code
		if shipped(f) && f.isSmall() {
			small.add(f.Path)
		}
	}
	var large result
	for name, code := range perPackage {
		if code > 2500 {
			large.add(fmt.Sprintf("%6d %s", code, name))
		}
	}
	slices.SortFunc(large.places, func(a, b string) int { return cmp.Compare(b, a) })
	inner, anywhere := backReferenceRows(packages)
	methods, fields, parameters := widest(tree, shipped)
	words, err := wordHits(root)
	if err != nil {
		return nil, err
	}
	path, err := callPath(packages)
	if err != nil {
		return nil, err
	}
	return []result{
		sumCodeLines(tree, "kernel"), sumCodeLines(tree, "engine"), sumCodeLines(tree, "cmd"), all, tests,
		{now: len(kernelPackages)},
		small, large, inner, anywhere, methods, fields, parameters,
		eventSwitches(packages), commandNames(tree), words, path,
	}, nil
}

// backReferenceRows returns two rows about the package with the most back references: among kernel, engine and the main
// packages of cmd, and among all.
func backReferenceRows(packages []*pkg) (inner, anywhere result) {
	inner, anywhere = result{note: "; worst: none"}, result{note: "; worst: none"}
	var sums []backSum
	for _, p := range packages {
		if s := p.backReferences(); s.total > 0 {
			sums = append(sums, s)
		}
	}
	slices.SortFunc(sums, func(a, b backSum) int { return cmp.Or(b.total-a.total, cmp.Compare(a.pkg, b.pkg)) })
	for _, s := range sums {
		anywhere.worst(s)
		if below(s.pkg, "kernel", "engine") || s.main && below(s.pkg, "cmd") {
			inner.worst(s)
		}
	}
	return inner, anywhere
}

// sumCodeLines sums the code lines of the product files below directories.
func sumCodeLines(tree []file, dirs ...string) result {
	var r result
	for _, f := range tree {
		if f.below(dirs...) && f.product() {
			r.now += f.code
		}
	}
	return r
}

// isSmall reports whether a file has at most 30 code lines and no reason to be a separate file.
func (f file) isSmall() bool {
	base := path.Base(f.Path)
	return f.code <= 30 && !f.tagged && base != "doc.go" && base != "main.go"
}

// worst adds a package's sum. The first sum becomes the row's value, so callers add the largest sum first.
func (r *result) worst(s backSum) {
	if r.now == 0 {
		r.now, r.note = s.total, "; worst: "+s.pkg
	}
	r.places = append(r.places, fmt.Sprintf("%4d of %d %s\n%s", s.total, s.all, s.pkg, strings.Join(s.edges, "\n")))
}

func wordHits(root string) (result, error) {
	list, err := wordlist.Default()
	if err != nil {
		return result{}, err
	}
	hits, err := list.Check(os.DirFS(root))
	if err != nil {
		return result{}, err
	}
	return result{now: len(hits)}, nil
}
