package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/compare"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// These are the limits for outputs in a page.
const (
	maxOutputs = 40
	maxOutput  = 32 << 10 // bytes of an output
)

// Output is the output of an iteration, or its difference from the output of the iteration before.
type Output struct {
	Title     string
	Diff      bool
	Lines     []Line
	Unchanged bool // no difference
	Cut       bool // truncated
	Lost      string
}

// Line is a line with its CSS class.
type Line struct{ Class, Text string }

// outputs returns the first and the last output of each loop and the differences between successive short outputs, the
// newest first. It reads the outputs of the last maxOutputs iterations; left counts the others.
func (c *Collector) outputs(f Facts) (all []Output, left int) {
	if f.Read == nil {
		return nil, 0
	}
	rows, _ := c.rows.all()
	rows = slices.DeleteFunc(rows, func(r Iteration) bool { return r.Result == nil || r.Result.Output == nil || r.Result.Output.Path == "" })
	if n := len(rows); n > maxOutputs {
		left, rows = n-maxOutputs, rows[n-maxOutputs:]
	}
	before := map[event.Location]string{} // by location without iteration, "" for an output that is too long
	last := map[event.Location]int{}
	for i, r := range rows {
		last[r.loop()] = i
	}
	for i, r := range rows {
		loop := r.loop()
		text, whole, err := compare.ReadText(f.Read, r.Result.Output.Path, maxOutput, f.Agent)
		title := r.title()
		if err != nil {
			all = append(all, Output{Title: title, Lost: err.Error()})
			continue
		}
		text = block(text)
		earlier, known := before[loop]
		before[loop] = ""
		if whole {
			before[loop] = text
		}
		if known && earlier != "" && whole {
			all = append(all, differs(title, earlier, text))
		}
		if last[loop] == i || !known {
			all = append(all, newOutput(title, text, whole))
		}
	}
	slices.Reverse(all)
	return all, left
}

// title returns the heading of an iteration's output.
func (i Iteration) title() string {
	return locationText(i.Stage, i.Location) + ", iteration " + strconv.Itoa(i.Location.Iteration)
}

// loop returns the location that all iterations of the same loop share.
func (i Iteration) loop() event.Location {
	at := i.Location
	at.Iteration = 0
	return at
}

func newOutput(title, text string, whole bool) Output {
	o := Output{Title: title, Cut: !whole}
	for line := range strings.Lines(text) {
		o.Lines = append(o.Lines, Line{Text: strings.TrimSuffix(line, "\n")})
	}
	return o
}

// differs returns the difference between two outputs.
func differs(title, before, after string) Output {
	o := Output{Title: title + ", against the one before", Diff: true}
	lines, cut := compare.UnifiedDiff(before, after)
	o.Unchanged, o.Cut = len(lines) == 0, cut
	for _, line := range lines {
		class := ""
		switch {
		case strings.HasPrefix(line, "+"):
			class = "new"
		case strings.HasPrefix(line, "-"):
			class = "old"
		case strings.HasPrefix(line, "@"):
			class = "at"
		}
		o.Lines = append(o.Lines, Line{class, strings.TrimSuffix(line, "\n")})
	}
	return o
}
