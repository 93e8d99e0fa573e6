package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/tools/imports"
)

const (
	repository = "dodo-digital/agent-pipelines"
	prefix     = imports.Prefix
)

// file is one Go file of the repository, outside of testdata.
type file struct {
	imports.File
	lines  int  // all lines
	code   int  // lines that are neither blank nor comment
	tagged bool // a build constraint or the suffix of its name restricts it
}

func (f file) product() bool             { return !f.Test && !ast.IsGenerated(f.Syntax) }
func (f file) below(dirs ...string) bool { return below(f.Path, dirs...) }

func below(name string, dirs ...string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") })
}

var systemSuffix = regexp.MustCompile(`_(linux|darwin|windows|unix|other|amd64|arm64)(_test)?\.go$`)

// readTree reads all Go files below root except those in testdata and in directories that the go command ignores.
func readTree(root fs.FS) ([]file, error) {
	loaded, err := imports.Load(root)
	if err != nil {
		return nil, err
	}
	files := make([]file, len(loaded))
	for i, f := range loaded {
		files[i] = measureFile(f)
	}
	return files, nil
}

func measureFile(f imports.File) file {
	m := file{File: f, lines: bytes.Count(f.Source, []byte{'\n'}), code: codeLines(f.Source), tagged: systemSuffix.MatchString(f.Path)}
	for _, group := range f.Syntax.Comments {
		m.tagged = m.tagged || group.Pos() < f.Syntax.Package && constraint.IsGoBuild(group.List[0].Text)
	}
	return m
}

// codeLines counts the lines that hold a token. Every line of a raw string counts.
func codeLines(src []byte) int {
	fset := token.NewFileSet()
	at := fset.AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(at, src, nil, 0)
	last, count := 0, 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return count
		}
		if tok == token.SEMICOLON && lit == "\n" { // inserted by the scanner
			continue
		}
		first := at.Line(pos)
		end := first + strings.Count(lit, "\n")
		count += end - max(first, last+1) + 1
		last = max(last, end)
	}
}

// widest returns the rows about the type with the most methods, the struct with the most fields and the function with
// the most parameters.
func widest(tree []file, shipped func(file) bool) (methods, fields, parameters result) {
	count := map[string]map[string]bool{}
	for _, f := range tree {
		if !shipped(f) {
			continue
		}
		for n := range ast.Preorder(f.Syntax) {
			switch n := n.(type) {
			case *ast.FuncDecl:
				addMethod(count, f, n)
				parameters.largest(n.Type.Params.NumFields(), 6, path.Dir(f.Path)+"."+n.Name.Name)
			case *ast.TypeSpec:
				fields.addStruct(f, n)
			}
		}
	}
	for name, m := range count {
		methods.largest(len(m), 30, name)
	}
	return methods, fields, parameters
}

func addMethod(count map[string]map[string]bool, f file, fn *ast.FuncDecl) {
	if fn.Recv == nil {
		return
	}
	name := path.Dir(f.Path) + "." + receiver(fn)
	if count[name] == nil {
		count[name] = map[string]bool{}
	}
	count[name][fn.Name.Name] = true
}

// addStruct adds a struct to the row. Options, configurations and grammars of verbs do not count.
func (r *result) addStruct(f file, spec *ast.TypeSpec) {
	if strings.HasSuffix(spec.Name.Name, "Options") || strings.HasSuffix(spec.Name.Name, "Config") {
		return
	}
	if s, ok := spec.Type.(*ast.StructType); ok && !isGrammar(s) {
		r.largest(s.Fields.NumFields(), 15, path.Dir(f.Path)+"."+spec.Name.Name)
	}
}

// isGrammar reports whether a struct lists the verbs of a command line, that is, whether a field has the tag cmd.
func isGrammar(s *ast.StructType) bool {
	return slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool {
		return f.Tag != nil && strings.Contains(f.Tag.Value, `cmd:"`)
	})
}

// largest keeps the maximum and lists the values above the limit.
func (r *result) largest(n, limit int, name string) {
	if n > r.now {
		r.now, r.note = n, ": "+name
	}
	if n > limit {
		r.places = append(r.places, fmt.Sprintf("%4d %s", n, name))
	}
}

// receiver returns the name of a method's type, empty for a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return ""
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// formatNames are the literals in which the project's name is part of a format, with the reason why it stays.
var formatNames = map[string]string{
	`"agent-pipelines"`:                                "the user's directories of configuration and cache, and the one beside the program",
	`"agent-pipelines-socket-"`:                        "the names of directories with sockets; a later version removes those of an earlier one",
	`"agent-pipelines: "`:                              "the title of the published JSON Schemas",
	`"[[agent-pipelines"`:                              "the border of a section in the text for an agent",
	"`(?i)\\[[\\s\\[]*\\[\\s*(/?\\s*agent-pipelines)`": "text of others that looks like that border",
}

// commandNames lists the string literals that name the command. It ignores the repository's name and formatNames.
func commandNames(tree []file) result {
	var r result
	for _, f := range tree {
		if !f.product() || !f.below("kernel", "engine", "plugin-sdk") {
			continue
		}
		ast.Inspect(f.Syntax, func(n ast.Node) bool {
			if _, ok := n.(*ast.ImportSpec); ok {
				return false
			}
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err == nil && formatNames[lit.Value] == "" && strings.Contains(strings.ReplaceAll(text, repository, ""), "agent-pipelines") {
				r.add(fmt.Sprintf("%s: %s", f.FileSet.Position(lit.Pos()), lit.Value))
			}
			return true
		})
	}
	return r
}

// result is the value of a row.
type result struct {
	now    int
	note   string   // printed after the method
	places []string // printed by -v
}

func (r *result) add(place string) {
	r.now++
	r.places = append(r.places, place)
}
