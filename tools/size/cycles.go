package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"path"
	"slices"
)

// graph holds references: graph[a][b] is the number of distinct objects of node b that node a uses.
type graph [][]int

// backSum is the result of one package.
type backSum struct {
	pkg   string
	main  bool
	total int // back references
	all   int // references between its nodes
	edges []string
}

// backReferences counts the references between the package's files that point up in the best order found.
//
// A node is a file. Files that hold only methods of one type are one node with the file that declares the type. A
// reference is a package-level object or a method that one file uses and another one declares. It counts once per pair
// of nodes.
//
// The result approximates the minimum over all orders. The next node of the order is the one that the remaining nodes
// use least. Then single nodes move as long as that reduces the sum. Without cycles the sum is 0.
func (p *pkg) backReferences() backSum {
	names, node := p.nodes()
	declared := map[types.Object]int{}
	for i, f := range p.files {
		for _, o := range p.declarations(f) {
			declared[o] = node[i]
		}
	}
	used := make([]map[types.Object]bool, len(names))
	for i := range used {
		used[i] = map[types.Object]bool{}
	}
	for i, f := range p.files {
		p.addUses(used[node[i]], f, declared)
	}
	g := make(graph, len(names))
	sum := backSum{pkg: p.path(), main: p.Name == "main"}
	for a := range g {
		g[a] = make([]int, len(names))
		for o := range used[a] {
			if b := declared[o]; a != b {
				g[a][b]++
				sum.all++
			}
		}
	}
	order := g.order()
	for i, a := range order {
		for _, b := range order[:i] {
			if n := g[a][b]; n > 0 {
				sum.total += n
				sum.edges = append(sum.edges, fmt.Sprintf("%s -> %s: %d %v", names[a], names[b], n, objectNames(used[a], declared, b)))
			}
		}
	}
	slices.Sort(sum.edges)
	return sum
}

// addUses adds the declared objects that a file uses.
func (p *pkg) addUses(used map[types.Object]bool, f file, declared map[types.Object]int) {
	for n := range ast.Preorder(f.Syntax) {
		id, ok := n.(*ast.Ident)
		if !ok {
			continue
		}
		o := p.TypesInfo.Uses[id]
		if fn, ok := o.(*types.Func); ok {
			o = fn.Origin()
		}
		if _, ok := declared[o]; ok {
			used[o] = true
		}
	}
}

// objectNames returns the names of the used objects that a node declares, sorted.
func objectNames(used map[types.Object]bool, declared map[types.Object]int, node int) []string {
	var names []string
	for o := range used {
		if declared[o] == node {
			names = append(names, o.Name())
		}
	}
	slices.Sort(names)
	return names
}

// declarations returns the package-level objects and methods that a file declares.
func (p *pkg) declarations(f file) []types.Object {
	var objects []types.Object
	add := func(id *ast.Ident) {
		if o := p.TypesInfo.Defs[id]; o != nil {
			objects = append(objects, o)
		}
	}
	for _, d := range f.Syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(d.Name)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					add(s.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						add(id)
					}
				}
			}
		}
	}
	return objects
}

// nodes returns the names of the package's nodes and the node of each file.
func (p *pkg) nodes() (names []string, node []int) {
	home := map[string]int{} // index of the file that declares a type
	for i, f := range p.files {
		for _, o := range p.declarations(f) {
			if t, ok := o.(*types.TypeName); ok {
				home[t.Name()] = i
			}
		}
	}
	node = make([]int, len(p.files))
	number := map[int]int{}
	for i, f := range p.files {
		at := i
		if t := methodsOnly(f.Syntax); t != "" {
			if h, ok := home[t]; ok && methodsOnly(p.files[h].Syntax) == "" {
				at = h
			}
		}
		if _, ok := number[at]; !ok {
			number[at] = len(names)
			names = append(names, path.Base(p.files[at].Path))
		}
		node[i] = number[at]
	}
	return names, node
}

// methodsOnly returns the name of the type if a file declares nothing but methods of one type, else "".
func methodsOnly(f *ast.File) string {
	name := ""
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			r := receiver(d)
			if r == "" || name != "" && r != name {
				return ""
			}
			name = r
		case *ast.GenDecl:
			if len(d.Specs) > 0 {
				if _, ok := d.Specs[0].(*ast.ImportSpec); !ok {
					return ""
				}
			}
		}
	}
	return name
}

// order returns the nodes in an order in which few references point to an earlier node.
func (g graph) order() []int {
	left := make([]int, len(g))
	for i := range left {
		left[i] = i
	}
	var order []int
	for len(left) > 0 {
		next := slices.MinFunc(left, func(a, b int) int { return cmp.Compare(g.used(a, left), g.used(b, left)) })
		order = append(order, next)
		left = slices.DeleteFunc(left, func(a int) bool { return a == next })
	}
	for g.improve(order) {
	}
	return order
}

// used returns the number of references to node a from the nodes in from.
func (g graph) used(a int, from []int) int {
	sum := 0
	for _, b := range from {
		sum += g[b][a]
	}
	return sum
}

// improve moves each node to its best position and reports whether a move reduced the sum.
func (g graph) improve(order []int) bool {
	moved := false
	for i := range order {
		a := order[i]
		best, to := 0, i
		gain := 0
		for j := i + 1; j < len(order); j++ { // later: references a -> order[j] turn back, order[j] -> a turn forward
			if gain += g[order[j]][a] - g[a][order[j]]; gain > best {
				best, to = gain, j
			}
		}
		gain = 0
		for j := i - 1; j >= 0; j-- {
			if gain += g[a][order[j]] - g[order[j]][a]; gain > best {
				best, to = gain, j
			}
		}
		if to != i {
			rest := slices.Delete(slices.Clone(order), i, i+1)
			copy(order, slices.Insert(rest, to, a))
			moved = true
		}
	}
	return moved
}
