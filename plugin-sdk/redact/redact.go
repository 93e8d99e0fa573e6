package redact

import (
	"encoding/json"
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
	values []string // the longest first
}

// New knows the values of those of the variables ("NAME=value" each) whose names are [Secret].
func New(environ []string) *Redactor {
	r := &Redactor{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if Secret(name) {
			r.learn(value)
		}
	}
	slices.SortFunc(r.values, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	r.values = slices.Compact(r.values)
	return r
}

// learn adds a value, how it looks in JSON, and its lines, since logs come in lines.
func (r *Redactor) learn(value string) {
	if !utf8.ValidString(value) { // it could be found in the middle of a character
		return
	}
	forms := append(strings.Split(value, "\n"), value)
	if text, err := json.Marshal(value); err == nil {
		forms = append(forms, string(text[1:len(text)-1]))
	}
	for _, form := range forms {
		form = strings.TrimSpace(form)
		if len(form) >= shortest && !plain("", form) && !strings.Contains(Mark, form) {
			r.values = append(r.values, form)
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

// Field is the value of a field without its secrets: nothing of it where the name says that it is one.
func (r *Redactor) Field(name, value string) string {
	if Secret(name) && !plain("", value) && value != "" && !reference.MatchString(value) {
		return Mark
	}
	return r.Text(value)
}

// kept is what is never looked into: references, and what is redacted already.
var kept = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}|\[REDACTED\]`)

// reference is a text that is one reference and nothing else.
var reference = regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)

func (r *Redactor) round(text string) (string, int) {
	if !strings.Contains(text, "${") && !strings.Contains(text, Mark) {
		return r.piece(text)
	}
	var b strings.Builder
	total, from := 0, 0
	add := func(piece string) {
		redacted, n := r.piece(piece)
		b.WriteString(redacted)
		total += n
	}
	for _, span := range kept.FindAllStringIndex(text, -1) {
		add(text[from:span[0]])
		b.WriteString(text[span[0]:span[1]])
		from = span[1]
	}
	add(text[from:])
	return b.String(), total
}

// piece redacts a text in which everything may be looked at.
func (r *Redactor) piece(text string) (string, int) {
	spans := r.find(text)
	if len(spans) == 0 {
		return text, 0
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	count, at := 0, 0
	for i := 0; i < len(spans); {
		from, to := spans[i].from, spans[i].to
		for i++; i < len(spans) && spans[i].from <= to; i++ { // those that overlap or touch are one
			to = max(to, spans[i].to)
		}
		b.WriteString(text[at:from])
		b.WriteString(Mark)
		count, at = count+1, to
	}
	b.WriteString(text[at:])
	return b.String(), count
}

// span is a part of a text, in bytes.
type span struct{ from, to int }

func (r *Redactor) find(text string) []span {
	var spans []span
	for _, value := range r.known() {
		for at := 0; ; {
			i := strings.Index(text[at:], value)
			if i < 0 {
				break
			}
			spans = append(spans, span{at + i, at + i + len(value)})
			at += i + len(value)
		}
	}
	lower := strings.ToLower(text)
	for _, rules := range [][]rule{prefixed, named} {
		for _, rule := range rules {
			spans = rule.find(text, lower, spans)
		}
	}
	return spans
}

func (r *Redactor) known() []string {
	if r == nil {
		return nil
	}
	return r.values
}

func (r rule) find(text, lower string, spans []span) []span {
	if !slices.ContainsFunc(r.hints, func(hint string) bool { return strings.Contains(lower, hint) }) {
		return spans
	}
	for _, m := range r.pattern.FindAllStringSubmatchIndex(text, -1) {
		s := secretOf(m)
		if s.from == s.to || r.spares != nil && r.spares(text[m[0]:m[1]], text[s.from:s.to]) {
			continue
		}
		spans = append(spans, s)
	}
	return spans
}

// secretOf is the last group of a match that took part, or all of the match.
func secretOf(match []int) span {
	for i := len(match) - 2; i > 0; i -= 2 {
		if match[i] >= 0 {
			return span{match[i], match[i+1]}
		}
	}
	return span{match[0], match[1]}
}
