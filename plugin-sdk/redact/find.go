package redact

import (
	"cmp"
	"slices"
	"strings"
)

// Finding is the place of a secret in a text. It does not contain the secret.
type Finding struct {
	Line int    // first line of the secret, from 1
	Rule string // name of the rule that found it, "variable NAME", or "pattern N"
}

// Find returns the secrets of a text in order.
func (r *Redactor) Find(text string) []Finding {
	var all []Finding
	line, at := 1, 0
	for _, s := range r.spans(text) {
		line += strings.Count(text[at:s.from], "\n")
		at = s.from
		all = append(all, Finding{Line: line, Rule: s.rule})
	}
	return all
}

// span is the position of a secret in a text, in bytes.
type span struct {
	from, to int
	rule     string
}

// spans returns the secrets of a text in order. References and marks are exempt. Overlapping or
// adjacent secrets are merged.
func (r *Redactor) spans(text string) []span {
	if !strings.Contains(text, "${") && !strings.Contains(text, Mark) {
		return mergeSpans(r.find(text, 0))
	}
	var all []span
	from := 0
	for _, k := range exempt.FindAllStringIndex(text, -1) {
		all = append(all, mergeSpans(r.find(text[from:k[0]], from))...)
		from = k[1]
	}
	return append(all, mergeSpans(r.find(text[from:], from))...)
}

func mergeSpans(spans []span) []span {
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

// find returns the secrets of a piece of a text. The piece has no exempt parts; at is the
// offset of the piece in the text.
func (r *Redactor) find(piece string, at int) (spans []span) {
	if r == nil {
		r = &Redactor{}
	}
	spans = r.findValues(piece, spans)
	lower := strings.ToLower(piece)
	for _, rules := range [][]rule{prefixRules, r.patterns, nameRules} {
		if r.forAgent && len(rules) > 0 && &rules[0] == &nameRules[0] {
			continue
		}
		for i := range rules {
			if !r.forStream || !rules[i].wholeText {
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

// ellipsis marks the place where a text was truncated.
const ellipsis = "…"

// findValues appends the occurrences of values. Unless r is for agents, it also appends parts of values
// beside an ellipsis, which marks a truncation.
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
	if len(r.values) == 0 || r.forAgent {
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

// overlap returns the number of bytes at the end of a text that are a prefix of a value, or the whole
// value.
func overlap(text, value string) int {
	for n := min(len(text), len(value)); n > 0; n-- {
		if strings.HasSuffix(text, value[:n]) {
			return n
		}
	}
	return 0
}

// remainder returns the number of bytes at the beginning of a text that are a suffix of a value.
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
		from, to := secretBounds(m)
		if from == to || r.isException != nil && r.isException(text[m[0]:m[1]], text[from:to]) {
			continue
		}
		spans = append(spans, span{from, to, r.name})
	}
	return spans
}

// secretBounds returns the last matched group of a match, or the whole match.
func secretBounds(match []int) (from, to int) {
	for i := len(match) - 2; i > 0; i -= 2 {
		if match[i] >= 0 {
			return match[i], match[i+1]
		}
	}
	return match[0], match[1]
}
