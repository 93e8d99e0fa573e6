// Package wordlist finds words and phrases that the project's language avoids.
//
// words.txt holds the expressions, allow.txt the exceptions. Check reads comments, string literals and declared names
// of Go files, and the comments of proto files, Makefiles, shell scripts and YAML files; it does not read testdata and
// the documentation. Command words prints the hits.
package wordlist

import (
	_ "embed"
	"fmt"
	"path"
	"regexp"
	"strings"
)

//go:embed words.txt
var words string

//go:embed allow.txt
var allow string

// List is a set of expressions and their exceptions.
type List struct {
	words []word
	allow []exception
}

type word struct {
	expr    *regexp.Regexp
	instead string
	text    bool // applies to comments and strings
	names   bool // applies to declared names, as lower-case words with spaces
}

type exception struct {
	path string         // a path, a directory, or * for all
	expr *regexp.Regexp // matches the hit with the words around it
}

// Hit is one place that matches an expression.
type Hit struct {
	Path    string // relative to the root, with slashes
	Line    int
	Text    string // the match with a few words around it
	Instead string
}

func (h Hit) String() string { return fmt.Sprintf("%s:%d: %s: %s", h.Path, h.Line, h.Text, h.Instead) }

// Default returns the list of this repository.
func Default() (*List, error) { return Parse(words, allow) }

// Parse reads a list. A line of words is "expression  # suggestion"; the lines [all], [text] and [names] say what the
// lines below them apply to. A line of allow is "path expression  # reason". Both parts of a line are required.
func Parse(words, allow string) (*List, error) {
	l := &List{}
	text, names := true, true
	for i, line := range strings.Split(words, "\n") {
		switch line = strings.TrimSpace(line); {
		case line == "" || strings.HasPrefix(line, "#"):
		case line == "[all]":
			text, names = true, true
		case line == "[text]":
			text, names = true, false
		case line == "[names]":
			text, names = false, true
		default:
			expr, instead, err := split(line)
			if err != nil {
				return nil, fmt.Errorf("words.txt:%d: %w", i+1, err)
			}
			l.words = append(l.words, word{expr, instead, text, names})
		}
	}
	for i, line := range strings.Split(allow, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		where, rest, _ := strings.Cut(line, " ")
		expr, _, err := split(strings.TrimSpace(rest))
		if err != nil {
			return nil, fmt.Errorf("allow.txt:%d: %w", i+1, err)
		}
		l.allow = append(l.allow, exception{where, expr})
	}
	return l, nil
}

func split(line string) (*regexp.Regexp, string, error) {
	expr, comment, ok := strings.Cut(line, "  # ")
	if !ok || strings.TrimSpace(comment) == "" {
		return nil, "", fmt.Errorf("want an expression, two spaces, # and a comment")
	}
	re, err := regexp.Compile("(?i)" + strings.TrimSpace(expr))
	return re, strings.TrimSpace(comment), err
}

// find returns the hits in a text. Names are already split into words.
func (l *List) find(name string, line int, text string, isName bool) []Hit {
	var hits []Hit
	flat := strings.NewReplacer("\n", " ", "\t", " ").Replace(text)
	for _, w := range l.words {
		if isName && !w.names || !isName && !w.text {
			continue
		}
		for _, at := range w.expr.FindAllStringIndex(flat, -1) {
			around := excerpt(flat, at[0], at[1])
			if !l.allows(name, around) {
				hits = append(hits, Hit{name, line + strings.Count(text[:at[0]], "\n"), around, w.instead})
			}
		}
	}
	return hits
}

// excerpt returns a match with up to 30 bytes on both sides, cut at spaces.
func excerpt(s string, from, to int) string {
	if before := s[max(0, from-30):from]; len(before) == from {
		from = 0
	} else {
		from -= len(before) - strings.Index(before+" ", " ")
	}
	if after := s[to:min(len(s), to+30)]; to+len(after) == len(s) {
		to = len(s)
	} else {
		to += max(0, strings.LastIndex(after, " "))
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(s[min(from, to):to], "")), " ")
}

func (l *List) allows(name, text string) bool {
	for _, e := range l.allow {
		here := e.path == "*" || e.path == name || strings.HasPrefix(name, e.path+"/")
		if ok, _ := path.Match(e.path, name); (here || ok) && e.expr.MatchString(text) {
			return true
		}
	}
	return false
}
