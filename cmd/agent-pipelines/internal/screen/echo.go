package screen

import "strings"

// maxPartial is how much of a line without an end is kept, in bytes.
const maxPartial = 4 << 10

// echo repeats an agent's text line by line, while it comes in pieces of any size.
type echo struct{ partial string }

// add takes a piece and returns the lines that are complete with it.
func (e *echo) add(text string) []string {
	parts := strings.Split(e.partial+text, "\n")
	e.partial = parts[len(parts)-1]
	parts = parts[:len(parts)-1]
	if len(e.partial) > maxPartial {
		parts, e.partial = append(parts, e.partial), ""
	}
	return quoted(parts)
}

// end returns what is left when the agent is done.
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
