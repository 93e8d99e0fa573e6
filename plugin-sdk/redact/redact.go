package redact

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Mark replaces a secret.
const Mark = "[REDACTED]"

// shortest is the minimum length of a variable's value, in bytes: shorter values would match parts
// of unrelated words.
const shortest = 6

// Redactor removes secrets from texts. It is safe for concurrent use. The zero value and nil apply
// the rules of this package and have no values or patterns.
type Redactor struct {
	values    []value // longest first
	patterns  []rule  // the caller's
	forAgent  bool    // no guesses by names
	forStream bool    // without rules that need the whole text
}

// value is a text that is secret everywhere.
type value struct{ text, name string }

// New returns a redactor for the values of the variables ("NAME=value") that are secret ([IsSecretVariable]).
func New(environ []string) *Redactor { return (*Redactor)(nil).WithVariables(environ) }

// WithVariables returns a copy of r with the values of further secret variables.
func (r *Redactor) WithVariables(environ []string) *Redactor {
	known := r.clone()
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if IsSecretVariable(name, value) {
			known.addForms(name, value)
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

// IsSecretVariable reports whether an environment variable is a secret: by its name, by a key with a known beginning
// in its value, or by an address with a password.
func IsSecretVariable(name, value string) bool {
	if IsSecretName(name) {
		return true
	}
	if openVariable.MatchString(name) {
		return false
	}
	return secretVariable.MatchString(name) || len(secretForms.find(value, 0)) > 0
}

// secretForms finds secrets by their form alone.
var secretForms = &Redactor{forAgent: true, patterns: []rule{urlPassword}}

// WithPatterns returns a copy of r with further patterns, which apply to the texts of agents as well. The secret is a
// pattern's last matched group, or the whole match.
func (r *Redactor) WithPatterns(patterns []*regexp.Regexp) *Redactor {
	more := r.clone()
	for _, p := range patterns {
		more.patterns = append(more.patterns, rule{name: fmt.Sprintf("pattern %d", len(more.patterns)+1), pattern: p})
	}
	return more
}

// WithoutPublicValues returns a copy of r without the values that occur in one of the texts, such as the project's
// path. Such values are public, and marks in such texts would make the texts useless.
func (r *Redactor) WithoutPublicValues(texts ...string) *Redactor {
	fewer := r.clone()
	fewer.values = slices.DeleteFunc(fewer.values, func(v value) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, v.text) })
	})
	return fewer
}

// ForAgent returns a copy of r for the texts of agents. The copy redacts known values, keys with a known beginning and
// pattern matches, and does not guess by names.
func (r *Redactor) ForAgent() *Redactor {
	weaker := r.clone()
	weaker.forAgent = true
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

// addForms adds a value, its JSON form, and its lines, because logs are redacted line by line.
func (r *Redactor) addForms(name, text string) {
	if !utf8.ValidString(text) { // a match could begin inside a character
		return
	}
	forms := append(strings.Split(text, "\n"), text)
	if quoted, err := json.Marshal(text); err == nil {
		forms = append(forms, string(quoted[1:len(quoted)-1]))
	}
	for _, form := range forms {
		form = strings.TrimSpace(form)
		if len(form) >= shortest && !isPlain("", form) && !strings.Contains(Mark, form) {
			r.values = append(r.values, value{form, name})
		}
	}
}

// Text returns the text without its secrets.
func (r *Redactor) Text(text string) string {
	text, _ = r.Count(text)
	return text
}

// Count returns the redacted text and the number of secrets.
func (r *Redactor) Count(text string) (string, int) {
	total := 0
	for {
		// The text between two marks may look like a new secret, so rounds repeat until none is
		// left. Each round shortens the unmarked text.
		redacted, n := r.round(text)
		if n == 0 {
			return text, total
		}
		text, total = redacted, total+n
	}
}

// Tail redacts the end of a text. An end of size bytes counts as truncated: Tail drops its first line,
// or at least its first word, because half of a secret is not recognizable.
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

// Field returns the value of a field without its secrets. A secret name hides the whole value,
// unless r is for agents or the value is a reference, a switch or a count.
func (r *Redactor) Field(name, value string) string {
	if !r.isAgent() && IsSecretName(name) && !isPlain("", value) && value != "" && !reference.MatchString(value) {
		return Mark
	}
	return r.Text(value)
}

func (r *Redactor) isAgent() bool { return r != nil && r.forAgent }

// exempt matches the exempt parts: references and marks.
var exempt = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}|\[REDACTED\]`)

// reference matches a text that is exactly one reference.
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
