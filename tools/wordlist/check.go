package wordlist

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/tools/txtar"
)

// Check returns the hits in all files below root, ordered by path and line.
func (l *List) Check(root fs.FS) ([]Hit, error) {
	var hits []Hit
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", "bin", "dist", "node_modules"}, d.Name()) || name == "tools/wordlist" {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		found, err := l.checkFile(root, name)
		hits = append(hits, found...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("check words: %w", err)
	}
	slices.SortStableFunc(hits, func(a, b Hit) int {
		if a.Path != b.Path {
			return strings.Compare(a.Path, b.Path)
		}
		return a.Line - b.Line
	})
	return hits, nil
}

// reading describes which parts of a file are text: the comments, or everything.
type reading struct {
	marker string // before a comment
	whole  bool   // all of the file is text
}

// readings holds the readings by suffix or base name. Files without a reading are not checked. A template is text, with
// the comment marker of the file that it generates.
var readings = map[string]reading{
	".go": {"//", false}, ".proto": {"//", false},
	".sh": {"#", false}, ".mk": {"#", false}, "Makefile": {"#", false}, "Dockerfile": {"#", false},
	".yml": {"#", false}, ".yaml": {"#", true}, ".txtar": {"#", false}, ".tmpl": {"#", true},
}

func (l *List) checkFile(root fs.FS, name string) ([]Hit, error) {
	suffix := cmp.Or(path.Ext(name), path.Base(name))
	r, read := readings[suffix]
	if !read || suffix != ".txtar" && strings.Contains("/"+name, "/testdata/") {
		return nil, nil
	}
	src, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	text := string(src)
	switch suffix {
	case ".go":
		return l.checkGo(name, src)
	case ".tmpl":
		if strings.HasSuffix(name, ".go.tmpl") {
			r.marker = "//"
		}
	case ".txtar":
		text = string(txtar.Parse(src).Comment) // the files in the archive are data
	}
	return l.checkText(name, text, r), nil
}

// checkText checks each block of successive comment lines, or of other lines, as one text. So a phrase may span two
// lines.
func (l *List) checkText(name, src string, r reading) []Hit {
	var hits []Hit
	var block []string
	isComment := false
	endBlock := func(line int) {
		text := strings.Join(block, "\n")
		hits = append(hits, l.find(name, line-len(block), text, prose)...)
		if isComment {
			hits = append(hits, l.longSentences(name, line-len(block), text)...)
		}
		block = nil
	}
	lines := strings.Split(src, "\n")
	for i, line := range lines {
		before, comment, found := strings.Cut(line, r.marker)
		alone := found && strings.TrimSpace(before) == ""
		comment = strings.TrimLeft(comment, r.marker+" ")
		if alone != isComment {
			endBlock(i + 1)
			isComment = alone
		}
		switch {
		case alone:
			block = append(block, comment)
		case r.whole:
			block = append(block, line)
		case found && strings.ContainsAny(before[max(0, len(before)-1):], " \t"):
			hits = append(hits, l.find(name, i+1, comment, prose)...)
		}
	}
	endBlock(len(lines) + 1)
	return hits
}

func (l *List) checkGo(name string, src []byte) ([]Hit, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(f) {
		return nil, err
	}
	var hits []Hit
	for _, group := range f.Comments {
		var lines []string
		for _, c := range group.List {
			lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(c.Text, "//"), " "))
		}
		line := fset.Position(group.Pos()).Line
		hits = append(hits, l.find(name, line, strings.Join(lines, "\n"), prose)...)
		hits = append(hits, l.longSentences(name, line, group.Text())...)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				hits = append(hits, l.find(name, fset.Position(n.Pos()).Line, literalText(n.Value), prose)...)
			}
		}
		names, kind := declared(n)
		for _, id := range names {
			words := splitName(id.Name)
			if _, function := n.(*ast.FuncDecl); function && strings.HasPrefix(words, "test ") {
				words, kind = strings.TrimPrefix(words, "test "), prose
			}
			hits = append(hits, l.find(name, fset.Position(id.Pos()).Line, words, kind)...)
		}
		return true
	})
	return hits, nil
}

// literalText returns the text of a string literal. In the text of a literal in double quotes, spaces replace newlines.
func literalText(literal string) string {
	if s, err := strconv.Unquote(literal); err == nil && literal[0] == '"' {
		return strings.ReplaceAll(s, "\n", " ")
	}
	return strings.Trim(literal, "`")
}

// declared returns the names that a node declares, and their kind.
func declared(n ast.Node) ([]*ast.Ident, kind) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return []*ast.Ident{n.Name}, declaration
	case *ast.TypeSpec:
		return []*ast.Ident{n.Name}, declaration
	case *ast.StructType:
		return fieldNames(n.Fields), declaration
	case *ast.InterfaceType:
		return fieldNames(n.Methods), declaration
	case *ast.FuncType:
		return append(fieldNames(n.Params), fieldNames(n.Results)...), local
	case *ast.ValueSpec:
		return n.Names, local
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			return identifiers(n.Key, n.Value), local
		}
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			return identifiers(n.Lhs...), local
		}
	}
	return nil, local
}

func fieldNames(list *ast.FieldList) []*ast.Ident {
	var ids []*ast.Ident
	if list != nil {
		for _, f := range list.List {
			ids = append(ids, f.Names...)
		}
	}
	return ids
}

func identifiers(exprs ...ast.Expr) []*ast.Ident {
	var ids []*ast.Ident
	for _, e := range exprs {
		if id, ok := e.(*ast.Ident); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// splitName turns a name into lower-case words: takeHTTPCall into "take http call".
func splitName(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		upper := unicode.IsUpper(r)
		if i > 0 && upper && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte(' ')
		}
		if r == '_' {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
