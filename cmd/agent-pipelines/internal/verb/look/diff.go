package look

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/compare"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// Diff is the verb `diff <session> <session>`.
type Diff struct {
	First    string `arg:"" name:"session" help:"The first session: running, paused or ended."`
	Second   string `arg:"" name:"other" complete:"session" help:"The second session."`
	Limit    uint32 `default:"20" placeholder:"N" help:"Maximum differences of each kind; 0: all (default 20)."`
	ExitCode bool   `help:"Exit with 40 if the sessions differ."`
}

// Help returns the text below the usage.
func (*Diff) Help() string {
	return `The first line says whether the sessions did the same. Below it are the status of each session, the
differences in plan and inputs, the first visit that differs, the outcome of each stage, and the
differing outputs and artifacts. Attempts, tokens, cost and time are shown but not compared.`
}

// Run implements [cli.Verb].
func (v *Diff) Run(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (*compare.Comparison, error) { return v.compare(a, e) }, writeDiff)
}

// compare compares the sessions, and sets the exit code.
func (v *Diff) compare(a *cli.App, e *engine.Engine) (*compare.Comparison, error) {
	agents := redact.New(os.Environ()).ForAgent()
	var sides [2]*compare.Snapshot
	for i, session := range []string{v.First, v.Second} {
		s := &compare.Snapshot{
			Clean:    agents.Text,
			Artifact: func(i engine.ArtifactInfo) (*engine.ArtifactContent, error) { return e.ReadArtifact(session, i) },
		}
		var err error
		if s.Inspection, err = e.Inspect(session, s.Begin); err != nil {
			return nil, err
		}
		s.Read = func(path string, most int64) (string, bool, error) {
			return readWithin(s.Inspection.Status.Dir, path, most)
		}
		sides[i] = s
	}
	c := compare.Diff(sides[0], sides[1])
	if !c.Equal && v.ExitCode {
		a.Code = cli.ExitDiffers
	}
	if v.Limit > 0 {
		c.Limit(int(v.Limit))
	}
	return &c, nil
}

// writeDiff writes a comparison as text.
func writeDiff(to io.Writer, c *compare.Comparison) {
	textPage(to).Text("", fmt.Sprintf("Sessions '%s' and '%s' %s.", c.Sessions[0].Session, c.Sessions[1].Session, c.Text))
	fmt.Fprintln(to)
	table := cli.NewTable(to)
	b := sessionRows(&c.Sessions[1])
	for i, row := range sessionRows(&c.Sessions[0]) {
		if row.text != "" || b[i].text != "" {
			fmt.Fprintf(table, "  %s\t%s\t%s\n", row.name, cmp.Or(row.text, "-"), cmp.Or(b[i].text, "-"))
		}
	}
	table.End()
	writeKeys(to, "Plan", c.Plan, c.LeftOut.Plan)
	writeKeys(to, "Inputs", c.Inputs, c.LeftOut.Inputs)
	if p := c.Divergence; p != nil {
		fmt.Fprintf(to, "\nTheir paths differ from visit %d:\n", p.Visit)
		writeValues(to, p.Values, c)
	}
	writeNodes(to, c)
	for i := range c.Texts {
		writeText(to, c, &c.Texts[i])
	}
	writeMore(to, c.LeftOut.Texts)
}

// namedText is a row of a table.
type namedText struct{ name, text string }

// sessionRows returns the rows on the status and the consumption of a session.
func sessionRows(s *compare.Session) []namedText {
	status, started := cmp.Or(string(s.Status), "never began"), ""
	switch {
	case s.Crashed:
		status = "crashed"
	case s.Running:
		status += " (at work)"
	}
	if !s.StartedAt.IsZero() {
		started = s.StartedAt.Local().Format(time.DateTime)
	}
	return []namedText{
		{"", s.Session},
		{"Status", status},
		{"At", screen.Clean(s.Stage)},
		{"Failure", s.Failure},
		{"Reason", screen.Cut(screen.Clean(s.Reason), reasonWidth/2)},
		{"Pipeline", screen.Clean(s.Pipeline)},
		{"Started", started},
		{"Iterations", screen.Count(int64(s.Iterations))},
		{"Attempts", fmt.Sprintf("%s, %d retries", screen.Count(int64(s.Attempts)), s.Retries)},
		{"Tokens", tokensText(s.Tokens, 0, 0)},
		{"Cost", costText(s.CostUSD, 0, 0)},
		{"Duration", durationText(s.DurationMS)},
	}
}

// writeKeys writes the differing keys, each with its two values.
func writeKeys(to io.Writer, title string, keys []compare.Key, left int) {
	if len(keys) == 0 {
		return
	}
	fmt.Fprintf(to, "\n%s:\n", title)
	for _, k := range keys {
		name := strings.TrimSuffix(strings.TrimPrefix(k.Node+": "+k.Key, ": "), ": ")
		fmt.Fprintf(to, "  %s  %s → %s\n", screen.Clean(name), valueText(k.Values[0]), valueText(k.Values[1]))
	}
	writeMore(to, left)
}

// valueText returns a value on one line.
func valueText(v any) string {
	text, isText := v.(string)
	if v == nil {
		text = "(none)"
	} else if !isText {
		b, err := json.Marshal(v)
		text = cmp.Or(string(b), fmt.Sprint(err))
	}
	return screen.Cut(screen.Clean(text), reasonWidth)
}

// writeValues writes one value per session.
func writeValues(to io.Writer, values [2]string, c *compare.Comparison) {
	width := max(screen.Columns(c.Sessions[0].Session), screen.Columns(c.Sessions[1].Session))
	for i, value := range values {
		fmt.Fprintf(to, "  %-*s  %s\n", width, c.Sessions[i].Session, cmp.Or(screen.Clean(value), "(none)"))
	}
}

func writeMore(to io.Writer, left int) {
	if left > 0 {
		fmt.Fprintf(to, "  … and %s more (--limit 0 shows all)\n", screen.Count(int64(left)))
	}
}

// writeNodes writes two rows for each node, and names the columns that differ.
func writeNodes(to io.Writer, c *compare.Comparison) {
	if len(c.Nodes) == 0 {
		return
	}
	fmt.Fprintln(to)
	var rows strings.Builder
	table := cli.NewTable(&rows, "  STAGE\tSESSION\tOUTCOME\tVISITS\tITERATIONS\tATTEMPTS\tAGENT\tTOKENS\tCOST\tTIME\tDIFFERS")
	for i := range c.Nodes {
		n := &c.Nodes[i]
		for side, f := range n.Values {
			name, differs := screen.Clean(n.Node), strings.Join(n.Differ, ", ")
			if side > 0 {
				name, differs = "", ""
			}
			if f == nil {
				fmt.Fprintf(table, "  %s\t%s\t(no such stage)\t\t\t\t\t\t\t\t\n", name, c.Sessions[side].Session)
				continue
			}
			fmt.Fprintf(table, "  %s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\n", name, c.Sessions[side].Session, cmp.Or(f.Outcome, f.Status), f.Visits, f.Iterations, f.Attempts,
				cmp.Or(screen.Clean(strings.Join(f.Agents, ", ")), "-"), tokensText(f.Tokens, 0, 0), costText(f.CostUSD, 0, 0), durationText(f.DurationMS), differs)
		}
	}
	table.End()
	for line := range strings.Lines(rows.String()) {
		fmt.Fprintln(to, strings.TrimRight(line, " \n"))
	}
	writeMore(to, c.LeftOut.Nodes)
	for i := range c.Nodes {
		writeReasons(to, c, &c.Nodes[i])
	}
}

// writeReasons writes the reasons for a node's end if they differ.
func writeReasons(to io.Writer, c *compare.Comparison, n *compare.Node) {
	a, b := n.Values[0], n.Values[1]
	if a == nil || b == nil || !slices.Contains(n.Differ, "reason") {
		return
	}
	fmt.Fprintf(to, "\nWhy %s ended:\n", screen.Clean(n.Node))
	writeValues(to, [2]string{a.Reason, b.Reason}, c)
}

// writeText writes the differences of an output or artifact.
func writeText(to io.Writer, c *compare.Comparison, t *compare.Text) {
	name := screen.Clean(t.Node)
	if t.Step != "" {
		name += ", step " + screen.Clean(t.Step)
	}
	if t.Provider != "" {
		name += " · " + screen.Clean(t.Provider)
	}
	if t.Visit > 1 {
		name += fmt.Sprintf(", visit %d", t.Visit)
	}
	fmt.Fprintf(to, "\nThe %s of %s differs", t.Kind, name)
	switch {
	case t.Files[0] == "":
		fmt.Fprintf(to, ": only '%s' has one", c.Sessions[1].Session)
	case t.Files[1] == "":
		fmt.Fprintf(to, ": only '%s' has one", c.Sessions[0].Session)
	case t.Problem != "":
		fmt.Fprintf(to, ": %s", screen.Clean(t.Problem))
	}
	if t.More > 0 {
		fmt.Fprintf(to, "; so do those of %s after it", screen.Plural(t.More, "iteration"))
	}
	fmt.Fprintln(to)
	for i, mark := range []string{"---", "+++"} {
		at := ""
		if n := t.Iterations[i]; n > 0 {
			at = fmt.Sprintf(", iteration %d", n)
		}
		if t.Files[i] != "" {
			fmt.Fprintf(to, "%s %s%s: %s\n", mark, c.Sessions[i].Session, at, screen.Clean(t.Files[i]))
		}
	}
	for _, line := range screen.Lines(strings.TrimSuffix(t.Diff, "\n")) {
		fmt.Fprintln(to, line)
	}
	if t.Cut {
		fmt.Fprintln(to, "… the rest is left out; see the whole files")
	}
}
