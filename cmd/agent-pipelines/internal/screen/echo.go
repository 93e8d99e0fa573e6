package screen

import (
	"maps"
	"slices"
	"strings"
)

// maxPartial bounds an incomplete line, in bytes.
const maxPartial = 4 << 10

// echoes repeats the texts of agents line by line; the texts come in pieces of any size. It holds the incomplete line of
// each agent by its provider in a parallel block, or "" if it works alone.
type echoes map[string]string

// add adds a piece and returns the lines that it completes.
func (all *echoes) add(branch, text string) []string {
	if *all == nil {
		*all = echoes{}
	}
	lines := strings.Split((*all)[branch]+text, "\n")
	rest := lines[len(lines)-1]
	if len(rest) > maxPartial {
		rest = ""
	} else {
		lines = lines[:len(lines)-1]
	}
	(*all)[branch] = rest
	return quoted(branch, lines)
}

// end returns and forgets the incomplete line of a provider, of all agents for "".
func (all echoes) end(branch string) []string {
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if all[id] != "" && (branch == "" || id == branch) {
			lines = append(lines, quoted(id, []string{all[id]})...)
			all[id] = ""
		}
	}
	return lines
}

func quoted(branch string, lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = withBranch(branch, strings.TrimRight("    │ "+Clean(line), " "))
	}
	return out
}

// withBranch puts the provider of a block before a line.
func withBranch(branch, line string) string {
	if branch == "" {
		return line
	}
	return "    " + Clean(branch) + strings.TrimPrefix(line, "   ")
}
