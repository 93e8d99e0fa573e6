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

func (i item) urgency() int { return marks[i.mark].urgency }

// fold returns the lines of the items, at most limit of them (0: all). It keeps the item at focus, then the urgent
// items, then the items around the focus. Successive other items become one line, which begins with margin.
func fold(items []item, limit, focus int, margin string) []screen.Line {
	f := folding{items: items, visible: make([]bool, len(items)), limit: limit, margin: margin}
	for i := range f.visible {
		f.visible[i] = true
	}
	if limit <= 0 || f.count() <= limit {
		return f.lines()
	}
	clear(f.visible)
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
	margin  string
}

// urgent returns the indexes of the urgent items, the most urgent first.
func (f folding) urgent() []int {
	var all []int
	for i := range f.items {
		if f.items[i].urgency() > 0 {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b int) int {
		return cmp.Or(f.items[b].urgency()-f.items[a].urgency(), f.items[b].depth-f.items[a].depth)
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
		lines = append(lines, screen.Line{{Text: f.margin + "⋮ " + counts(f.items[i:end]), Style: screen.Faint}})
		i = end
	}
	return lines
}

// counts returns the number of items by mark: "12 done, 3 to come".
func counts(items []item) string {
	var n [len(marks)]int
	for _, i := range items {
		n[i.mark]++
	}
	var parts []string
	for _, mark := range []Mark{Waiting, Failed, Running, Resting, Done, Skipped, Pending} {
		if n[mark] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[mark], marks[mark].text))
		}
	}
	return strings.Join(parts, ", ")
}
