package graph

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
)

// Text writes the graph for a terminal: a box for each node, an arrow to the next box, and below a box the edges
// that lead elsewhere.
func (g Graph) Text(to io.Writer) {
	fromAbove := false
	for i, n := range g.Nodes {
		forward, continues := g.forward(i)
		writeBox(to, n, fromAbove, continues)
		margin := "   "
		if continues {
			margin = "  │"
		}
		for _, in := range n.Inside {
			writeInside(to, margin, in)
		}
		for _, text := range g.otherEdges(i) {
			fmt.Fprintln(to, margin+"  "+text)
		}
		switch {
		case continues && i == len(g.Nodes)-1:
			fmt.Fprintf(to, "%s\n  ▼\n  %s\n", strings.TrimRight("  │  "+forward, " "), done)
		case continues:
			fmt.Fprintln(to, strings.TrimRight("  │  "+forward, " "))
		}
		fromAbove = continues
	}
}

// done is the word for the successful end.
const done = "done"

func writeBox(to io.Writer, n Node, fromAbove, continues bool) {
	line := strings.Repeat("─", screen.Columns(n.ID)) // one dash less than between the corners
	above, below := "─", "─"
	if fromAbove {
		above = "┴"
	}
	if continues {
		below = "┬"
	}
	notes := n.Notes
	if n.Out {
		notes = slices.Concat([]string{"left out"}, notes)
	}
	fmt.Fprintf(to, "┌─%s%s┐\n%s\n└─%s%s┘\n", above, line, strings.TrimRight("│ "+n.ID+" │  "+strings.Join(notes, " · "), " "), below, line)
}

func writeInside(to io.Writer, margin string, n Node) {
	fmt.Fprintln(to, strings.TrimRight(margin+"  • "+n.ID+"  "+strings.Join(n.Notes, " · "), " "))
	for _, in := range n.Inside {
		writeInside(to, margin+"  ", in)
	}
}

// isForward reports whether an edge is drawn as the arrow to the next node, or from the last node to done.
func (g Graph) isForward(e Edge) bool {
	if e.From == len(g.Nodes)-1 {
		return e.End == done
	}
	return e.To == e.From+1
}

// forward returns the label of the path forward from a node, and whether the node has such a path.
func (g Graph) forward(i int) (text string, ok bool) {
	var texts []string
	for _, e := range g.Edges {
		if e.From != i || !g.isForward(e) {
			continue
		}
		ok = true
		if e.Label != "" {
			texts = append(texts, e.Text())
		}
	}
	return strings.Join(texts, ", "), ok
}

// otherEdges returns the edges of a node that are not its path forward, as "fail (at most 3 times) ──▲ plan".
func (g Graph) otherEdges(i int) []string {
	var texts []string
	for _, e := range g.Edges {
		if e.From != i || g.isForward(e) {
			continue
		}
		arrow := "──▶ "
		switch {
		case e.To == i:
			arrow = "↺ "
		case e.back():
			arrow = "──▲ "
		}
		texts = append(texts, strings.TrimSpace(e.Text()+" "+arrow+g.target(e)))
	}
	return texts
}

// target returns the name of the node or end that an edge leads to.
func (g Graph) target(e Edge) string {
	if e.To >= 0 {
		return g.Nodes[e.To].ID
	}
	return e.End
}

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

// mermaidText quotes a text. Characters that Mermaid or HTML interprets become entity codes of Mermaid, with
// the number of the character.
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
