package redact

import (
	"cmp"
	"slices"
	"strings"
)

// Found is a secret in a text. What it is, is not said.
type Found struct {
	Line int    // from 1: where it begins
	Rule string // by which it is one: a rule's name, "variable NAME", or "pattern N"
}

// Find tells the secrets of a text in their order.
func (r *Redactor) Find(text string) []Found {
	var all []Found
	line, at := 1, 0
	for _, s := range r.spans(text) {
		line += strings.Count(text[at:s.from], "\n")
		at = s.from
		all = append(all, Found{Line: line, Rule: s.rule})
	}
	return all
}

// span is a part of a text, in bytes, that is a secret.
type span struct {
	from, to int
	rule     string
}

// spans are the secrets of a text outside of what is never looked into, in order; those that overlap or touch are one.
func (r *Redactor) spans(text string) []span {
	if !strings.Contains(text, "${") && !strings.Contains(text, Mark) {
		return merged(r.find(text, 0, nil))
	}
	var all []span
	from := 0
	for _, k := range kept.FindAllStringIndex(text, -1) {
		all = append(all, merged(r.find(text[from:k[0]], from, nil))...)
		from = k[1]
	}
	return append(all, merged(r.find(text[from:], from, nil))...)
}

func merged(spans []span) []span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	out := spans[:1]
	for _, s := range spans[1:] {
		if last := &out[len(out)-1]; s.from <= last.to {
			last.to = max(last.to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// find adds the secrets of a piece in which everything may be looked at; it begins at a place of the text.
func (r *Redactor) find(piece string, at int, spans []span) []span {
	if r == nil {
		r = &Redactor{}
	}
	spans = r.findValues(piece, spans)
	lower := strings.ToLower(piece)
	for _, rules := range [][]rule{prefixed, r.patterns, named} {
		if r.agent && len(rules) > 0 && &rules[0] == &named[0] {
			continue
		}
		for i := range rules {
			if !r.pieces || !rules[i].whole {
				spans = rules[i].find(piece, lower, spans)
			}
		}
	}
	for i := range spans {
		spans[i].from += at
		spans[i].to += at
	}
	return spans
}

// ellipsis is where a text was cut to what fits.
const ellipsis = "…"

// findValues adds where a value stands, and where the part of one does that a cut of our own left.
func (r *Redactor) findValues(text string, spans []span) []span {
	for _, v := range r.values {
		for at := 0; ; {
			i := strings.Index(text[at:], v.text)
			if i < 0 {
				break
			}
			spans = append(spans, span{at + i, at + i + len(v.text), "variable " + v.name})
			at += i + len(v.text)
		}
	}
	if len(r.values) == 0 || r.agent {
		return spans
	}
	for at := 0; ; {
		i := strings.Index(text[at:], ellipsis)
		if i < 0 {
			return spans
		}
		begin, end := at+i, at+i+len(ellipsis)
		for _, v := range r.values {
			if n := overlap(text[:begin], v.text); n >= shortest {
				spans = append(spans, span{begin - n, begin, "variable " + v.name})
			}
			if n := remainder(text[end:], v.text); n >= shortest {
				spans = append(spans, span{end, end + n, "variable " + v.name})
			}
		}
		at = end
	}
}

// overlap is how many bytes at the end of a text are the beginning of a value, or all of it.
func overlap(text, value string) int {
	for n := min(len(text), len(value)); n > 0; n-- {
		if strings.HasSuffix(text, value[:n]) {
			return n
		}
	}
	return 0
}

// remainder is how many bytes at the beginning of a text are the end of a value.
func remainder(text, value string) int {
	for n := min(len(text), len(value)); n > 0; n-- {
		if strings.HasPrefix(text, value[len(value)-n:]) {
			return n
		}
	}
	return 0
}

func (r *rule) find(text, lower string, spans []span) []span {
	if r.hints != nil && !slices.ContainsFunc(r.hints, func(hint string) bool { return strings.Contains(lower, hint) }) {
		return spans
	}
	for _, m := range r.pattern.FindAllStringSubmatchIndex(text, -1) {
		from, to := secretOf(m)
		if from == to || r.spares != nil && r.spares(text[m[0]:m[1]], text[from:to]) {
			continue
		}
		spans = append(spans, span{from, to, r.name})
	}
	return spans
}

// secretOf is the last group of a match that took part, or all of the match.
func secretOf(match []int) (from, to int) {
	for i := len(match) - 2; i > 0; i -= 2 {
		if match[i] >= 0 {
			return match[i], match[i+1]
		}
	}
	return match[0], match[1]
}
