package contextstrategy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Cut describes the cut of a section. Its figures describe the section's text, without the borders.
type Cut struct {
	Kind           Kind
	Name           string
	OriginalBytes  int64
	OriginalTokens int
	KeptBytes      int64
	KeptTokens     int
}

// Fit cuts sections until together they have at most limit tokens, and returns the remaining sections and the cuts.
// It cuts talk, the oldest first, then files, steps and facts, the last of each kind first. A cut leaves at most about
// a hundredth of a section's tokens unused. It keeps the end of talk and the beginning of other kinds, and drops a
// section of which nothing fits. A negative limit means no limit. The result is deterministic.
func Fit(sections []Section, limit int, count TokenCounter) ([]Section, []Cut) {
	kept := slices.Clone(sections)
	sizes, total := make([]int, len(kept)), 0
	for i := range kept {
		kept[i].Text = Escape(kept[i].Text)
		sizes[i] = count(kept[i].render())
		total += sizes[i]
	}
	var cuts []Cut
	for _, i := range cutOrder(kept) {
		s, budget := kept[i], math.MaxInt
		if limit >= 0 {
			budget = sizes[i] + limit - total
		}
		if budget >= sizes[i] && s.isComplete() {
			continue
		}
		text := shorten(s, sizes[i], budget, count)
		cuts = append(cuts, newCut(s, text, count))
		total -= sizes[i]
		kept[i] = s.withText(text)
		if text != "" {
			total += count(kept[i].render())
		}
	}
	return slices.DeleteFunc(kept, func(s Section) bool { return s.Text == "" }), cuts
}

// cutOrder returns the positions of sections in the order of cutting.
func cutOrder(sections []Section) []int {
	rank := map[Kind]int{Talk: 0, File: 1, Step: 2, Fact: 3}
	all := make([]int, len(sections))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int {
		ka, kb := sections[a].Kind, sections[b].Kind
		switch {
		case ka != kb:
			return cmp.Compare(rank[ka], rank[kb])
		case ka == Talk:
			return cmp.Compare(a, b)
		default:
			return cmp.Compare(b, a)
		}
	})
	return all
}

func newCut(s Section, kept string, count TokenCounter) Cut {
	c := Cut{
		Kind: s.Kind, Name: label(s.Name), OriginalBytes: s.size(), OriginalTokens: count(s.Text),
		KeptBytes: int64(len(kept)), KeptTokens: count(kept),
	}
	c.OriginalTokens += int(s.size()-int64(len(s.Text))+3) / 4 // of the unread rest
	return c
}

// shorten returns the part of the section's text that fits into budget tokens, or "" if nothing fits. The section's
// borders and the note about the missing rest count too. Up to a hundredth of budget may stay unused. size is the token
// count of the whole section.
func shorten(s Section, size, budget int, count TokenCounter) string {
	if size <= budget && count(s.withText(s.Text).render()) <= budget { // all of the read text fits
		return s.Text
	}
	fits, over := 0, len(s.Text) // in bytes
	least, most := 0, max(size, budget+1)
	for step := 1; over-fits > 1; step++ {
		n := fits + (over-fits)/2
		if step%3 != 0 { // interpolate, as if tokens were evenly distributed
			n = fits + int(float64(over-fits)*float64(budget-least)/float64(most-least))
		}
		n = min(max(n, fits+1), over-1)
		switch tokens := count(s.withText(s.truncate(n)).render()); {
		case tokens > budget:
			over, most = n, tokens
		case budget-tokens <= budget/100:
			return s.truncate(n)
		default:
			fits, least = n, tokens
		}
	}
	return s.truncate(fits)
}

// truncate returns at most n bytes of the section's text: whole characters, and whole lines if there are any.
func (s Section) truncate(n int) string {
	text := s.Text
	if n >= len(text) {
		return text
	}
	if s.Kind == Talk {
		at := len(text) - n
		for at < len(text) && !utf8.RuneStart(text[at]) {
			at++
		}
		if i := strings.IndexByte(text[at:], '\n'); at > 0 && text[at-1] != '\n' && i >= 0 && at+i+1 < len(text) {
			at += i + 1
		}
		return text[at:]
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	if i := strings.LastIndexByte(text[:n], '\n'); text[n] != '\n' && i >= 0 {
		n = i + 1
	}
	return text[:n]
}

// withText returns the section with the kept text and a note on its length.
func (s Section) withText(kept string) Section {
	note := fmt.Sprintf("(%d of %d bytes; the rest is left out)", len(kept), s.size())
	short := Section{Kind: s.Kind, Name: s.Name}
	switch {
	case kept == "":
	case s.Kind == Talk:
		short.Text = note + "\n" + kept
	case strings.HasSuffix(kept, "\n"):
		short.Text = kept + note
	default:
		short.Text = kept + "\n" + note
	}
	return short
}
