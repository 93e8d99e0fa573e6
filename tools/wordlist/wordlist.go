package wordlist

import (
	_ "embed"
	"fmt"
	"go/doc/comment"
	"path"
	"regexp"
	"slices"
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
	kinds   []kind // of the texts that it applies to
}

// kind is the kind of a text.
type kind int

const (
	prose       kind = iota // a comment or a string
	declaration             // the name of a function, type, method or field
	local                   // any other name that a file declares
)

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

// sections are the headings of words.txt.
var sections = map[string][]kind{
	"[all]":          {prose, declaration, local},
	"[text]":         {prose},
	"[names]":        {declaration, local},
	"[declarations]": {declaration},
}

// Parse parses a list. A line of words is "expression  # suggestion". The lines [all], [text], [names] and
// [declarations] select the kinds of text for the lines below them. A line of allow is "path expression  # reason".
// The comment of a line is required.
func Parse(words, allow string) (*List, error) {
	l := &List{}
	kinds := sections["[all]"]
	for i, line := range strings.Split(words, "\n") {
		switch line = strings.TrimSpace(line); {
		case line == "" || strings.HasPrefix(line, "#"):
		case sections[line] != nil:
			kinds = sections[line]
		default:
			expr, instead, err := split(line)
			if err != nil {
				return nil, fmt.Errorf("words.txt:%d: %w", i+1, err)
			}
			l.words = append(l.words, word{expr, instead, kinds})
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
func (l *List) find(name string, line int, text string, is kind) []Hit {
	var hits []Hit
	flat := strings.NewReplacer("\n", " ", "\t", " ").Replace(text)
	for _, w := range l.words {
		if !slices.Contains(w.kinds, is) {
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

// maxWords is the limit of words in a sentence.
const maxWords = 25

var sentenceEnd = regexp.MustCompile(`[.!?:;]["')\]]*(\s+|$)`)

// longSentences returns a hit for each sentence of a comment with more than maxWords words, with the line of the
// comment. Headings and list items are separate texts. Indented code is skipped.
func (l *List) longSentences(name string, line int, text string) []Hit {
	doc := new(comment.Parser).Parse(text)
	doc.Content = slices.DeleteFunc(doc.Content, func(b comment.Block) bool { _, is := b.(*comment.Code); return is })
	printer := comment.Printer{TextWidth: -1} // a paragraph is one line
	var hits []Hit
	for paragraph := range strings.Lines(string(printer.Text(doc))) {
		for _, s := range sentenceEnd.Split(strings.TrimLeft(paragraph, " -"), -1) {
			if n := len(strings.Fields(s)); n > maxWords && !l.allows(name, s) {
				hits = append(hits, Hit{name, line, excerpt(s, 0, 0), fmt.Sprintf("a sentence of %d words; want at most %d", n, maxWords)})
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
