package report

import (
	"fmt"
	"html"
	"html/template"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
)

// These are the sizes of drawings, in units of their view boxes.
const (
	wide       = 1000.0
	names      = 190.0 // width of the names of rows
	rowHeight  = 24.0
	chartWide  = 480.0
	chartHigh  = 150.0
	chartLeft  = 8.0
	chartTop   = 22.0
	chartBelow = 22.0
)

// axis maps times to coordinates. It leaves out the time in which no kernel held the session.
type axis struct {
	from, to time.Time
	gaps     []span
	margin   float64
	width    float64
}

// work returns the working time from the beginning to a time.
func (a axis) work(at time.Time) time.Duration {
	d := at.Sub(a.from)
	for _, g := range a.gaps {
		if g.start.After(at) {
			break
		}
		end := g.end
		if end.After(at) {
			end = at
		}
		d -= end.Sub(g.start)
	}
	return max(d, 0)
}

func (a axis) x(at time.Time) float64 {
	total := a.work(a.to)
	if total <= 0 {
		return a.margin
	}
	return a.margin + a.width*min(1, float64(a.work(at))/float64(total))
}

func (c *Collector) axis(left, width float64) axis {
	return axis{from: c.timeline.Began(), to: c.timeline.Latest(), gaps: c.nodeRows.gaps, margin: left, width: width}
}

// drawRows draws each row with its attempts, and the time in which no kernel held the session.
func (c *Collector) drawRows() (drawing template.HTML, left int) {
	rows, left := c.nodeRows.list.all()
	if len(rows) == 0 || c.timeline.Began().IsZero() {
		return "", left
	}
	a := c.axis(names, wide-names-10)
	high := rowHeight*float64(len(rows)) + 26
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="timeline" role="img" aria-label="timeline" viewBox="0 0 %.0f %.0f">`, wide, high)
	for _, g := range a.gaps {
		x := a.x(g.start)
		fmt.Fprintf(&b, `<g><title>no kernel held the session for %s</title><path class="gap" d="M%.1f 0V%.0f"/></g>`, screen.DurationText(g.end.Sub(g.start)), x, high-22)
	}
	for i, row := range rows {
		c.drawRow(&b, a, row, float64(i)*rowHeight)
	}
	fmt.Fprintf(&b, `<text class="tick" x="%.0f" y="%.0f">0</text><text class="tick" text-anchor="end" x="%.0f" y="%.0f">%s of work</text></svg>`,
		names, high-6, wide-10, high-6, screen.DurationText(a.work(a.to)))
	return template.HTML(b.String()), left //nolint:gosec // everything in it is a number or escaped
}

// maxName bounds the name of a row, in columns.
const maxName = 26

func (c *Collector) drawRow(b *strings.Builder, a axis, row *nodeRow, y float64) {
	end := row.end
	if end.IsZero() {
		end = c.timeline.Latest()
	}
	fmt.Fprintf(b, `<text x="%.0f" y="%.1f" text-anchor="end">%s</text>`, names-8, y+16, html.EscapeString(screen.Cut(c.line(row.name), maxName)))
	from, to := a.x(row.start), a.x(end)
	fmt.Fprintf(b, `<g><title>%s</title><rect class="lane %s" x="%.1f" y="%.1f" width="%.1f" height="16" rx="3"/></g>`,
		html.EscapeString(strings.TrimSpace(fmt.Sprintf("%s %s, %s", c.line(row.name), c.line(row.outcome), screen.DurationText(a.work(end)-a.work(row.start))))), outcomeClass(row.outcome), from, y+5, max(to-from, 2))
	spans, _ := row.spans.all() // the row's own rectangle shows the time of dropped spans
	for _, s := range spans {
		end, class := s.end, "span"
		if end.IsZero() {
			end = c.timeline.Latest()
			class += " open"
		}
		if s.bad {
			class += " bad"
		}
		x, to := a.x(s.start), a.x(end)
		fmt.Fprintf(b, `<g><title>iteration %d, %s</title><rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="10" rx="2"/></g>`, s.iteration, screen.DurationText(a.work(end)-a.work(s.start)), class, x, y+8, max(to-x-0.6, 1))
	}
}

// chart draws a sum over time.
func (c *Collector) chart(title string, value func(point) float64, words func(float64) string) template.HTML {
	points := c.series.all()
	last := points[len(points)-1]
	top := value(last)
	if top <= 0 {
		return ""
	}
	a := c.axis(chartLeft, chartWide-2*chartLeft)
	floor := chartHigh - chartBelow
	y := func(v float64) float64 { return floor - (floor-chartTop)*v/top }
	var line strings.Builder
	fmt.Fprintf(&line, "M%.1f %.1f", chartLeft, floor)
	for _, p := range points {
		fmt.Fprintf(&line, "H%.1fV%.1f", a.x(p.at), y(value(p)))
	}
	fmt.Fprintf(&line, "H%.1f", chartWide-chartLeft)
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart" role="img" aria-label="%s" viewBox="0 0 %.0f %.0f">`, html.EscapeString(title), chartWide, chartHigh)
	fmt.Fprintf(&b, `<path class="axis" d="M%.1f %.1fH%.1f"/><path class="area" d="%sV%.1fZ"/><path class="curve" d="%s"/>`, chartLeft, floor, chartWide-chartLeft, line.String(), floor, line.String())
	fmt.Fprintf(&b, `<text x="%.1f" y="14">%s: %s</text>`, chartLeft, html.EscapeString(title), html.EscapeString(words(top)))
	fmt.Fprintf(&b, `<text class="tick" x="%.1f" y="%.1f">0</text><text class="tick" text-anchor="end" x="%.1f" y="%.1f">%s of work</text></svg>`, chartLeft, chartHigh-6, chartWide-chartLeft, chartHigh-6, screen.DurationText(a.work(a.to)))
	return template.HTML(b.String()) //nolint:gosec // everything in it is a number or escaped
}
