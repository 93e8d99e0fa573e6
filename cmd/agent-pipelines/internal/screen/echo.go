package screen

import (
	"maps"
	"slices"
	"strings"
)

// maxPartial bounds an incomplete line, in bytes.
const maxPartial = 4 << 10

// echoes repeat the texts of agents that work side by side, by the provider of a parallel block.
type echoes map[string]*echo

func (all *echoes) add(branch, text string) []string {
	if *all == nil {
		*all = echoes{}
	}
	e, speaks := (*all)[branch]
	if !speaks {
		e = &echo{}
		(*all)[branch] = e
	}
	return withBranch(branch, e.add(text))
}

// end returns the incomplete lines of a provider, of all for "".
func (all echoes) end(branch string) []string {
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if branch == "" || id == branch {
			lines = append(lines, withBranch(id, all[id].end())...)
		}
	}
	return lines
}

// withBranch puts the provider of a block before lines.
func withBranch(branch string, lines []string) []string {
	if branch == "" {
		return lines
	}
	for i := range lines {
		lines[i] = "    " + Clean(branch) + strings.TrimPrefix(lines[i], "   ")
	}
	return lines
}

// echo repeats an agent's text line by line; the text comes in pieces of any size.
type echo struct{ partial string }

// add adds a piece and returns the lines that it completes.
func (e *echo) add(text string) []string {
	parts := strings.Split(e.partial+text, "\n")
	e.partial = parts[len(parts)-1]
	parts = parts[:len(parts)-1]
	if len(e.partial) > maxPartial {
		parts, e.partial = append(parts, e.partial), ""
	}
	return quoted(parts)
}

// end returns the incomplete line at the end of an agent's work.
func (e *echo) end() []string {
	rest := e.partial
	e.partial = ""
	if rest == "" {
		return nil
	}
	return quoted([]string{rest})
}

func quoted(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimRight("    │ "+Clean(line), " ")
	}
	return out
}
