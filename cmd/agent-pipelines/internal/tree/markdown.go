package tree

import (
	"fmt"
	"strings"
	"time"
)

// Markdown returns the tree as a Markdown table: a line for each row, and the waiting questions below. It is empty before
// the first event.
func Markdown(m *Model, now time.Time) string {
	rows := m.Rows(now)
	if len(rows) == 0 {
		return ""
	}
	word, _ := m.Status()
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s\n\n| | | |\n|---|---|---|\n", escaped(m.session), escaped(word))
	for _, r := range rows {
		facts := r.Facts
		if r.Mark == Waiting {
			facts = facts[1:] // another column has it
		}
		text := factText(facts)
		if r.Doing != "" && r.Mark != Done {
			text = strings.TrimPrefix(text+" · "+r.Doing, " · ")
		}
		fmt.Fprintf(&b, "| %s%s | %s | %s |\n", strings.Repeat("&emsp;", r.Depth), escaped(r.Name), marks[r.Mark].text, escaped(text))
	}
	for _, r := range rows {
		for _, a := range r.Asks {
			fmt.Fprintf(&b, "\n%s\n", escaped(a.Text))
			for _, command := range a.Commands {
				fmt.Fprintf(&b, "- `%s`\n", command)
			}
		}
	}
	return b.String()
}

// escaped escapes a printable text for Markdown.
func escaped(text string) string {
	return strings.NewReplacer(
		"&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "\\|", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "\\", "\\\\", "#", "\\#", "~", "\\~", "@", "@\u200b",
	).Replace(text)
}
