package graph

import (
	"fmt"
	"io"
	"strings"
)

// DOT writes the graph in the language of Graphviz (https://graphviz.org/doc/info/lang.html).
func (g Graph) DOT(to io.Writer) {
	fmt.Fprintf(to, "digraph %s {\n  compound=true\n  node [shape=box, style=rounded, fontname=\"sans-serif\"]\n  edge [fontname=\"sans-serif\", fontsize=10]\n", dotText(g.Name))
	for i, n := range g.Nodes {
		dotNode(to, "  ", fmt.Sprintf("n%d", i), n)
	}
	for _, word := range g.ends() {
		fmt.Fprintf(to, "  end_%s [label=%s, shape=oval]\n", word, dotText(word))
	}
	for _, e := range g.Edges {
		target := "end_" + e.End
		var attributes []string
		if text := e.Text(); text != "" {
			attributes = append(attributes, "label="+dotText(text))
		}
		if len(g.Nodes[e.From].Inside) > 0 {
			attributes = append(attributes, fmt.Sprintf("ltail=cluster_n%d", e.From))
		}
		if e.End == "" {
			target = g.dotID(e.To)
			if len(g.Nodes[e.To].Inside) > 0 {
				attributes = append(attributes, fmt.Sprintf("lhead=cluster_n%d", e.To))
			}
		}
		tail := ""
		if len(attributes) > 0 {
			tail = " [" + strings.Join(attributes, ", ") + "]"
		}
		fmt.Fprintf(to, "  %s -> %s%s\n", g.dotID(e.From), target, tail)
	}
	fmt.Fprintln(to, "}")
}

// dotID is what edges lead to for a node: a box, or one inside of it, since Graphviz draws no edge to a cluster itself.
func (g Graph) dotID(i int) string {
	id := fmt.Sprintf("n%d", i)
	for n := g.Nodes[i]; len(n.Inside) > 0; n = n.Inside[0] {
		id += "_0"
	}
	return id
}

func dotNode(to io.Writer, margin, id string, n Node) {
	style := ""
	if n.Out {
		style = ", style=\"rounded,dashed\""
	}
	label := dotText(strings.Join(append([]string{n.ID}, n.Notes...), "\n"))
	if len(n.Inside) == 0 {
		fmt.Fprintf(to, "%s%s [label=%s%s]\n", margin, id, label, style)
		return
	}
	fmt.Fprintf(to, "%ssubgraph cluster_%s {\n%s  label=%s\n", margin, id, margin, label)
	for i, in := range n.Inside {
		dotNode(to, margin+"  ", fmt.Sprintf("%s_%d", id, i), in)
	}
	fmt.Fprintf(to, "%s}\n", margin)
}

// dotText quotes a text: within quotes only they and backslashes mean something.
func dotText(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(text) + `"`
}
