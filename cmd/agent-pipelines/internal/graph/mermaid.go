package graph

import (
	"fmt"
	"io"
	"strings"
)

// Mermaid writes the graph as a flowchart of Mermaid (https://mermaid.js.org/syntax/flowchart.html), which GitHub and
// many editors draw.
func (g Graph) Mermaid(to io.Writer) {
	fmt.Fprintln(to, "flowchart TD")
	for i, n := range g.Nodes {
		mermaidNode(to, "  ", fmt.Sprintf("n%d", i), n)
	}
	for _, word := range g.ends() {
		fmt.Fprintf(to, "  %s([%q])\n", "end_"+word, word)
	}
	for _, e := range g.Edges {
		target := fmt.Sprintf("n%d", e.To)
		if e.End != "" {
			target = "end_" + e.End
		}
		label := ""
		if text := e.Text(); text != "" {
			label = fmt.Sprintf("|%s|", mermaidText(text))
		}
		fmt.Fprintf(to, "  n%d -->%s %s\n", e.From, label, target)
	}
}

func mermaidNode(to io.Writer, margin, id string, n Node) {
	text := mermaidText(strings.Join(append([]string{n.ID}, n.Notes...), "\n"))
	if len(n.Inside) == 0 {
		fmt.Fprintf(to, "%s%s[%s]\n", margin, id, text)
	} else {
		fmt.Fprintf(to, "%ssubgraph %s[%s]\n", margin, id, text)
		for i, in := range n.Inside {
			mermaidNode(to, margin+"  ", fmt.Sprintf("%s_%d", id, i), in)
		}
		fmt.Fprintf(to, "%send\n", margin)
	}
	if n.Out {
		fmt.Fprintf(to, "%sstyle %s stroke-dasharray: 4\n", margin, id)
	}
}

// mermaidText quotes a text: all but letters, digits and spaces may mean something to Mermaid, which knows entities by
// their number.
func mermaidText(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '\n':
			b.WriteString("<br/>")
		case strings.ContainsRune(`"#<>&;`+"`", r):
			fmt.Fprintf(&b, "#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
