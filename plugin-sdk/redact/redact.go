package redact

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Mark stands where a secret was.
const Mark = "[REDACTED]"

// shortest is how many bytes a variable's value has at least that is searched for as it is: shorter ones
// would be found in words that have nothing to do with it.
const shortest = 6

// Redactor is safe for concurrent use. The zero value, and nil, know the rules and no values.
type Redactor struct {
	values   []value // the longest first
	patterns []rule  // of somebody else
	agent    bool    // no guesses by a name
	pieces   bool    // not the rules that need the whole text
}

// value is a text that is secret wherever it stands.
type value struct{ text, name string }

// New knows the values of those of the variables ("NAME=value" each) whose names are [Secret].
func New(environ []string) *Redactor { return (*Redactor)(nil).Knowing(environ) }

// Knowing is r that knows the values of such variables, too.
func (r *Redactor) Knowing(environ []string) *Redactor {
	known := r.clone()
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if Secret(name) {
			known.learn(name, value)
		}
	}
	slices.SortFunc(known.values, func(a, b value) int {
		if len(a.text) != len(b.text) {
			return len(b.text) - len(a.text)
		}
		return strings.Compare(a.text+"="+a.name, b.text+"="+b.name)
	})
	known.values = slices.CompactFunc(known.values, func(a, b value) bool { return a.text == b.text })
	return known
}

// Matching is r that takes out what one of the patterns matches, too, of the text of an agent as well. Of a pattern
// with groups it is the last group that took part.
func (r *Redactor) Matching(patterns []*regexp.Regexp) *Redactor {
	more := r.clone()
	for _, p := range patterns {
		more.patterns = append(more.patterns, rule{name: fmt.Sprintf("pattern %d", len(more.patterns)+1), pattern: p})
	}
	return more
}

// Sparing is r without the values that stand in one of the texts, such as the path of the project: everybody sees those,
// and they are of no use with a mark in them.
func (r *Redactor) Sparing(texts ...string) *Redactor {
	fewer := r.clone()
	fewer.values = slices.DeleteFunc(fewer.values, func(v value) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, v.text) })
	})
	return fewer
}

// Agent is r for the texts of agents: it takes out what is known exactly, keys with a known beginning and what its
// patterns match, and guesses nothing by a name beside it.
func (r *Redactor) Agent() *Redactor {
	weaker := r.clone()
	weaker.agent = true
	return weaker
}

func (r *Redactor) clone() *Redactor {
	if r == nil {
		return &Redactor{}
	}
	c := *r
	c.values, c.patterns = slices.Clone(r.values), slices.Clone(r.patterns)
	return &c
}

// learn adds a value, how it looks in JSON, and its lines, since logs come in lines.
func (r *Redactor) learn(name, text string) {
	if !utf8.ValidString(text) { // it could be found in the middle of a character
		return
	}
	forms := append(strings.Split(text, "\n"), text)
	if quoted, err := json.Marshal(text); err == nil {
		forms = append(forms, string(quoted[1:len(quoted)-1]))
	}
	for _, form := range forms {
		form = strings.TrimSpace(form)
		if len(form) >= shortest && !plain("", form) && !strings.Contains(Mark, form) {
			r.values = append(r.values, value{form, name})
		}
	}
}

// Text is the text without its secrets.
func (r *Redactor) Text(text string) string {
	text, _ = r.Count(text)
	return text
}

// Count is Text, and how many secrets were taken out.
func (r *Redactor) Count(text string) (string, int) {
	total := 0
	for {
		// What is left between two marks may look like a secret that it did not look like before: until nothing
		// does. Each round makes what is not yet marked shorter.
		redacted, n := r.round(text)
		if n == 0 {
			return text, total
		}
		text, total = redacted, total+n
	}
}

// Tail is Text of the end of a longer text, of which at most size bytes were kept: the line that the cut went
// through, or at least its word, is left out, since half of a secret is not known for one.
func (r *Redactor) Tail(end string, size int) string {
	if len(end) < size {
		return r.Text(end)
	}
	_, whole, found := strings.Cut(end, "\n")
	if !found || whole == "" {
		_, whole, _ = strings.Cut(end, " ")
	}
	return r.Text(whole)
}

// Field is the value of a field without its secrets: nothing of it where the name says that it is one, unless the text
// is an agent's.
func (r *Redactor) Field(name, value string) string {
	if !r.isAgent() && Secret(name) && !plain("", value) && value != "" && !reference.MatchString(value) {
		return Mark
	}
	return r.Text(value)
}

func (r *Redactor) isAgent() bool { return r != nil && r.agent }

// kept is what is never looked into: references, and what is redacted already.
var kept = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}|\[REDACTED\]`)

// reference is a text that is one reference and nothing else.
var reference = regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)

func (r *Redactor) round(text string) (string, int) {
	spans := r.spans(text)
	if len(spans) == 0 {
		return text, 0
	}
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.from])
		b.WriteString(Mark)
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String(), len(spans)
}
