package main

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/callgraph/cha"
	"golang.org/x/tools/go/callgraph/vta"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// The ends of the call path: a run begins, and the host opens the stream of a provider's attempt.
const (
	runFunction    = "(*" + prefix + "engine.Engine).Run"
	streamFunction = "(*" + prefix + "plugin-sdk/client.provider).Execute"
)

// callPath counts our packages with a function on some path of calls from engine.Run to the stream.
//
// The calls are those of variable type analysis, in the functions of package engine and of our packages that it
// imports. A function that another one uses as a value counts as called there, because external code calls callbacks.
func callPath(all []*pkg) (result, error) {
	var engine []*packages.Package
	for _, p := range all {
		if p.path() == "engine" {
			packages.Visit([]*packages.Package{p.Package}, nil, func(needed *packages.Package) {
				if needed.Syntax != nil {
					engine = append(engine, needed)
				}
			})
		}
	}
	program, _ := ssautil.Packages(engine, ssa.InstantiateGenerics)
	program.Build()
	functions := ssautil.AllFunctions(program)
	var begin, end *ssa.Function
	for f := range functions {
		switch f.String() {
		case runFunction:
			begin = f
		case streamFunction:
			end = f
		}
	}
	if begin == nil || end == nil {
		return result{}, errors.New("no function " + runFunction + " or " + streamFunction + ": correct callpath.go")
	}
	callees, callers := callEdges(program, functions)
	behind, before := reachable(begin, callees), reachable(end, callers)
	names := map[string]bool{}
	for f := range behind {
		if name := importPath(f); before[f] && strings.HasPrefix(name, prefix) {
			names[name] = true
		}
	}
	return result{now: len(names), places: slices.Sorted(maps.Keys(names))}, nil
}

// edges maps a function to its neighbours.
type edges map[*ssa.Function][]*ssa.Function

// callEdges returns the calls and uses of the functions in both directions.
func callEdges(program *ssa.Program, functions map[*ssa.Function]bool) (callees, callers edges) {
	callees, callers = edges{}, edges{}
	add := func(from, to *ssa.Function) {
		callees[from] = append(callees[from], to)
		callers[to] = append(callers[to], from)
	}
	for from, node := range vta.CallGraph(functions, cha.CallGraph(program)).Nodes {
		for _, call := range node.Out {
			add(from, call.Callee.Func)
		}
	}
	for from := range functions {
		for _, block := range from.Blocks {
			for _, instruction := range block.Instrs {
				for _, operand := range instruction.Operands(nil) {
					if used, ok := (*operand).(*ssa.Function); ok {
						add(from, used)
					}
				}
			}
		}
	}
	return callees, callers
}

// reachable returns the function from and all functions to which edges lead from there.
func reachable(from *ssa.Function, e edges) map[*ssa.Function]bool {
	seen := map[*ssa.Function]bool{from: true}
	for todo := []*ssa.Function{from}; len(todo) > 0; todo = todo[1:] {
		for _, next := range e[todo[0]] {
			if !seen[next] {
				seen[next] = true
				todo = append(todo, next)
			}
		}
	}
	return seen
}

// importPath returns the import path of the package that declares a function, "" for a synthetic function.
func importPath(f *ssa.Function) string {
	for f.Parent() != nil {
		f = f.Parent()
	}
	if f.Origin() != nil {
		f = f.Origin()
	}
	if f.Pkg == nil {
		return ""
	}
	return f.Pkg.Pkg.Path()
}
