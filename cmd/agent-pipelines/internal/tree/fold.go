package tree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
)

// item is a row with its lines.
type item struct {
	mark  Mark
	depth int
	lines []screen.Line
}

// urgency orders the rows that must be visible; other ones may be folded.
var urgency = map[Mark]int{Resting: 1, Failed: 2, Running: 3, Waiting: 4}

// fold returns the lines of the items, at most limit of them (0: all). It keeps the item at focus, then the urgent ones,
// then those around the focus. Successive other items become one line, which begins with lead.
func fold(items []item, limit, focus int, lead string) []screen.Line {
	f := folding{items: items, visible: make([]bool, len(items)), limit: limit, lead: lead}
	if limit <= 0 || f.all() <= limit {
		for i := range f.visible {
			f.visible[i] = true
		}
		return f.lines()
	}
	f.visible[focus] = true
	for _, i := range f.urgent() {
		f.keep(i)
	}
	for distance := 1; distance <= limit; distance++ {
		f.keep(focus + distance)
		f.keep(focus - distance)
	}
	lines := f.lines()
	return lines[:min(len(lines), limit)]
}

type folding struct {
	items   []item
	visible []bool
	limit   int
	lead    string
}

func (f folding) all() int {
	total := 0
	for _, i := range f.items {
		total += len(i.lines)
	}
	return total
}

// urgent returns the urgent items, the most urgent first.
func (f folding) urgent() []int {
	var all []int
	for i := range f.items {
		if urgency[f.items[i].mark] > 0 {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int {
		return cmp.Or(urgency[f.items[b].mark]-urgency[f.items[a].mark], f.items[b].depth-f.items[a].depth)
	})
	return all[:min(len(all), f.limit)]
}

// keep keeps an item, if the limit allows it.
func (f folding) keep(i int) {
	if i < 0 || i >= len(f.items) || f.visible[i] {
		return
	}
	f.visible[i] = true
	if f.count() > f.limit {
		f.visible[i] = false
	}
}

// count returns the number of lines.
func (f folding) count() int {
	total, folded := 0, false
	for i := range f.items {
		if f.visible[i] {
			total += len(f.items[i].lines)
		} else if !folded {
			total++
		}
		folded = !f.visible[i]
	}
	return total
}

func (f folding) lines() []screen.Line {
	var lines []screen.Line
	for i := 0; i < len(f.items); {
		if f.visible[i] {
			lines = append(lines, f.items[i].lines...)
			i++
			continue
		}
		end := i
		for end < len(f.items) && !f.visible[end] {
			end++
		}
		lines = append(lines, screen.Line{{Text: f.lead + "⋮ " + counts(f.items[i:end]), Style: screen.Faint}})
		i = end
	}
	return lines
}

// counts returns the number of items by mark: "12 done, 3 to come".
func counts(items []item) string {
	var n [Skipped + 1]int
	for _, i := range items {
		n[i.mark]++
	}
	var parts []string
	for _, c := range []struct {
		mark Mark
		text string
	}{{Waiting, "waiting for you"}, {Failed, "failed"}, {Running, "running"}, {Resting, "under way"}, {Done, "done"}, {Skipped, "left out"}, {Pending, "to come"}} {
		if n[c.mark] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[c.mark], c.text))
		}
	}
	return strings.Join(parts, ", ")
}
