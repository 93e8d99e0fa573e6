package graph

import (
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
)

// These are the measures of a drawing, in pixels.
const (
	rowGap     = 44 // between boxes, with space for a label
	lineSpace  = 18
	letter     = 7.3 // assumed width of a letter; rather too large, because texts are not cut
	padding    = 12
	arrival    = 10 // from the top of a box to an arriving arc
	departure  = 18 // between arcs that leave a box
	arcSpacing = 22 // between arcs that lead beside the boxes
)

// style is the style sheet for light and dark surroundings. It repeats the colors, because not every viewer of SVG files
// supports variables.
const style = `.ap-graph text{font:13px ui-sans-serif,system-ui,sans-serif;fill:#1f2328}.ap-graph rect{fill:#f6f8fa;stroke:#8c959f}` +
	`.ap-graph .out rect{stroke-dasharray:4}.ap-graph path{fill:none;stroke:#8c959f}.ap-graph .tip{fill:#8c959f;stroke:none}` +
	`.ap-graph .note,.ap-graph .label{fill:#656d76;font-size:11px}` +
	`@media screen and (prefers-color-scheme:dark){.ap-graph text{fill:#e6edf3}.ap-graph rect{fill:#161b22;stroke:#6e7681}` +
	`.ap-graph path{stroke:#6e7681}.ap-graph .tip{fill:#6e7681}.ap-graph .note,.ap-graph .label{fill:#9198a1}}`

// box is a node with its place in the drawing.
type box struct {
	x, y, width, height float64
}

func (b box) middle() float64 { return b.y + b.height/2 }
func (b box) right() float64  { return b.x + b.width }
func (b box) bottom() float64 { return b.y + b.height }

// drawing is the state of rendering an SVG.
type drawing struct {
	g      Graph
	boxes  []box          // of the nodes
	ends   map[string]box // by their words
	spine  float64        // x of the straight edges to the next node
	width  float64
	height float64
	out    strings.Builder
	reach  [2]float64 // how far from the boxes the last arc runs, on the left and on the right

	departures map[Edge]float64 // heights at which arcs leave their boxes, each below the earlier arcs of the same side
}

// SVG writes the graph as a picture that needs no other file: the nodes below each other, edges back on the left, edges
// that pass over nodes on the right.
func (g Graph) SVG(to io.Writer) {
	d := &drawing{g: g, ends: map[string]box{}, departures: map[Edge]float64{}}
	d.place()
	d.draw()
	fmt.Fprintf(to, `<svg xmlns="http://www.w3.org/2000/svg" class="ap-graph" role="img" aria-label="%s" viewBox="0 0 %[2]d %[3]d" width="%[2]d" height="%[3]d">`+"\n<style>%[4]s</style>\n",
		html.EscapeString("pipeline "+g.Name), int(math.Ceil(d.width)), int(math.Ceil(d.height)), style)
	fmt.Fprintf(to, "%s</svg>\n", d.out.String())
}

// place computes the places of all boxes. The arcs and their labels are left and right of the boxes; the ends are in
// a row below, done on the path forward.
func (d *drawing) place() {
	left, right := d.margins()
	widest := 0.0
	for _, n := range d.g.Nodes {
		widest = max(widest, boxWidth(n))
	}
	arcs := map[[2]int]float64{} // number by node and side
	for _, e := range d.g.Edges {
		if from := [2]int{e.From, e.side()}; !d.g.isForward(e) {
			arcs[from]++
			d.departures[e] = arrival + arcs[from]*departure
		}
	}
	y := float64(padding)
	d.spine = left + widest/2
	for i, n := range d.g.Nodes {
		b := box{left, y, widest, max(boxHeight(n), max(arcs[[2]int{i, 0}], arcs[[2]int{i, 1}])*departure+2*arrival)}
		d.boxes = append(d.boxes, b)
		y += b.height + rowGap
	}
	x := d.spine
	for _, word := range d.g.ends() {
		b := box{width: float64(len(word))*letter + 2*padding, height: 2*lineSpace - 8, y: y}
		if word == done {
			b.x = d.spine - b.width/2
		} else {
			x = max(x, left+widest/2) + 3*arcSpacing
			b.x = x
			x += b.width
		}
		d.ends[word] = b
	}
	d.width, d.height = max(left+widest, x)+right, y+2*lineSpace+padding
}

// margins returns the space that the arcs and their labels need on both sides. The labels are between the boxes and
// the arcs.
func (d *drawing) margins() (left, right float64) {
	var arcs [2]float64
	for _, e := range d.g.Edges {
		if d.g.isForward(e) {
			continue
		}
		side := e.side()
		arcs[side]++
		d.reach[side] = max(d.reach[side], float64(len(e.Text()))*letter*0.9)
	}
	return d.reach[0] + arcs[0]*arcSpacing + padding, d.reach[1] + arcs[1]*arcSpacing + padding
}

// side returns the side of the boxes where an arc is drawn: 0 for the left, 1 for the right.
func (e Edge) side() int {
	if e.back() {
		return 0
	}
	return 1
}

// edgesByLength returns the edges. Edges that pass few nodes come first: their arcs are closest to the boxes.
func (g Graph) edgesByLength() []Edge {
	reach := func(e Edge) int {
		if e.End != "" {
			return len(g.Nodes)
		}
		return max(e.To-e.From, e.From-e.To)
	}
	return slices.SortedStableFunc(slices.Values(g.Edges), func(a, b Edge) int { return reach(a) - reach(b) })
}

func boxWidth(n Node) float64 {
	widest := float64(len([]rune(n.ID)))
	for _, note := range n.Notes {
		widest = max(widest, float64(len([]rune(note)))*0.9)
	}
	width := widest * letter
	for _, in := range n.Inside {
		width = max(width, boxWidth(in))
	}
	return width + 2*padding
}

func boxHeight(n Node) float64 {
	height := float64(lineSpace*(1+len(n.Notes)) + padding)
	for _, in := range n.Inside {
		height += boxHeight(in) + padding/2
	}
	if len(n.Inside) > 0 {
		height += padding / 2
	}
	return height
}

func (d *drawing) draw() {
	for i, n := range d.g.Nodes {
		d.node(n, d.boxes[i])
	}
	for _, word := range d.g.ends() {
		b := d.ends[word]
		fmt.Fprintf(&d.out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.1f"/>`, b.x, b.y, b.width, b.height, b.height/2)
		d.text("", "middle", b.x+b.width/2, b.middle()+4, word)
	}
	for _, e := range d.g.edgesByLength() {
		from, to := d.boxes[e.From], d.ends[e.End]
		if e.End == "" {
			to = d.boxes[e.To]
		}
		switch {
		case d.g.isForward(e):
			d.down(from, to)
		case e.End != "":
			d.toEnd(e, from.right(), to)
		case e.back():
			d.arc(e, from.x, to.x, to.y+arrival)
		default:
			d.arc(e, from.right(), to.right(), to.y+arrival)
		}
	}
	for i, b := range d.boxes {
		if text, ok := d.g.forward(i); ok && text != "" {
			d.label("start", d.spine+6, b.bottom()+rowGap/2+4, text)
		}
	}
}

func (d *drawing) node(n Node, b box) {
	class := ""
	if n.Out {
		class = ` class="out"`
	}
	fmt.Fprintf(&d.out, `<g%s><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="6"/></g>`, class, b.x, b.y, b.width, b.height)
	middle, y := b.x+b.width/2, b.y+lineSpace
	d.text("", "middle", middle, y, n.ID)
	for _, note := range n.Notes {
		y += lineSpace
		d.text("note", "middle", middle, y-2, note)
	}
	y += padding / 2
	for _, in := range n.Inside {
		d.node(in, box{b.x + padding/2, y, b.width - padding, boxHeight(in)})
		y += boxHeight(in) + padding/2
	}
}

// down draws the straight edge to the next node.
func (d *drawing) down(from, to box) {
	fmt.Fprintf(&d.out, `<path d="M%.1f %.1fV%.1f"/>`, d.spine, from.bottom(), to.y-6)
	fmt.Fprintf(&d.out, `<path class="tip" d="M%.1f %.1fl-4 -7h8z"/>`+"\n", d.spine, to.y)
}

// arc draws an edge around boxes to the side of a box, farther out than the previous edge on that side.
func (d *drawing) arc(e Edge, x, toX, toY float64) {
	y, outer := d.startArc(e, x)
	tip := 7.0
	if outer < toX {
		tip = -tip
	}
	fmt.Fprintf(&d.out, `<path d="M%.1f %.1fH%.1fV%.1fH%.1f"/>`, x, y, outer, toY, toX+tip)
	fmt.Fprintf(&d.out, `<path class="tip" d="M%.1f %.1fl%.1f -4v8z"/>`+"\n", toX, toY, tip)
}

// toEnd draws an edge that leads past boxes into an end, from above.
func (d *drawing) toEnd(e Edge, x float64, to box) {
	y, outer := d.startArc(e, x)
	middle := to.x + to.width/2
	fmt.Fprintf(&d.out, `<path d="M%.1f %.1fH%.1fV%.1fH%.1fV%.1f"/>`, x, y, outer, to.y-rowGap/2, middle, to.y-6)
	fmt.Fprintf(&d.out, `<path class="tip" d="M%.1f %.1fl-4 -7h8z"/>`+"\n", middle, to.y)
}

// startArc writes the label of an arc and returns at which height it leaves its box and how far out it runs.
func (d *drawing) startArc(e Edge, x float64) (y, outer float64) {
	d.reach[e.side()] += arcSpacing
	y = d.boxes[e.From].y + d.departures[e]
	if e.back() {
		d.label("end", x-6, y-3, e.Text())
		return y, x - d.reach[0]
	}
	d.label("start", x+6, y-3, e.Text())
	return y, x + d.reach[1]
}

func (d *drawing) label(anchor string, x, y float64, text string) {
	fmt.Fprintf(&d.out, `<text class="label" text-anchor="%s" x="%.1f" y="%.1f">%s</text>`+"\n", anchor, x, y, html.EscapeString(text))
}

func (d *drawing) text(class, anchor string, x, y float64, text string) {
	if class != "" {
		class = ` class="` + class + `"`
	}
	fmt.Fprintf(&d.out, `<text%s text-anchor="%s" x="%.1f" y="%.1f">%s</text>`+"\n", class, anchor, x, y, html.EscapeString(text))
}
