package author

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/look"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// writeDryRun writes the preview of a run as Markdown, under the headings of the Bash engine where it had any.
func writeDryRun(to io.Writer, d *engine.DryRun, lint authoring.LintTarget) {
	title := "Pipeline"
	if d.Mode == cli.ModeLoop {
		title = "Loop"
	}
	fmt.Fprintf(to, "# Dry Run: %s %s\n\n## Validation\n\n", title, lint.Name)
	writeTarget(to, lint)
	fmt.Fprint(to, "\n## Configuration\n\n")
	writeRows(to, "Field", [][2]string{
		{"name", d.Name},
		{"description", d.Description},
		{"runs", runsText(d.Runs)},
		{"nodes", fmt.Sprint(len(d.Plan.Nodes))},
		{"session", d.Session},
		{"source", d.File},
		{"time limit", timeLimit(d.Plan.Pipeline.Guardrails)},
		{"begins with", look.StartText(d.Plan)},
		{"complete after", look.ExitText(d.Plan)},
		{"hooks", strings.Join(hookTexts(d.Plan, nil), "; ")},
	})
	fmt.Fprint(to, "\n## Files\n\n")
	writeRows(to, "Purpose", [][2]string{
		{"Run directory", d.Dir + "/"},
		{"State file", d.Dir + "/state.json"},
		{"Lock file", ".claude/locks/" + d.Session + ".lock"},
	})
	fmt.Fprint(to, "\n## Nodes\n\n")
	for i := range d.Plan.Nodes {
		writeNode(to, nodeContext{d.Plan, d.Plan, "", d.Unreached}, fmt.Sprint(i+1), &d.Plan.Nodes[i])
	}
	for i := range d.Stages {
		writePrompt(to, &d.Stages[i])
	}
	writePath(to, d.Path)
}

// writeRows writes a table of two columns and omits rows without text.
func writeRows(to io.Writer, first string, rows [][2]string) {
	second := "Value"
	if first == "Purpose" {
		second = "Path"
	}
	fmt.Fprintf(to, "| %s | %s |\n|---|---|\n", first, second)
	for _, row := range rows {
		if row[1] != "" {
			fmt.Fprintf(to, "| %s | %s |\n", row[0], strings.ReplaceAll(row[1], "|", `\|`))
		}
	}
}

// nodeContext locates a node: plan contains it, and the node at the path outer of the complete plan embeds plan.
type nodeContext struct {
	complete, plan *plan.Plan
	outer          string            // ends with a dot; "" for the complete plan itself
	leftOut        map[string]string // reasons by node path
}

// writeNode describes a node of a plan. The number is its position from 1, after the positions of its parents.
func writeNode(to io.Writer, in nodeContext, number string, n *plan.Node) {
	fmt.Fprintf(to, "### Node %s: %s\n\n", number, n.ID)
	item := func(name, text string) {
		if text != "" {
			fmt.Fprintf(to, "- **%s:** %s\n", name, text)
		}
	}
	switch {
	case n.Kind == plan.KindParallel:
		var providers, stages []string
		for i := range n.Providers {
			providers = append(providers, n.Providers[i].ID())
		}
		for i := range n.Stages {
			stages = append(stages, blockStageText(&n.Stages[i]))
		}
		fmt.Fprintln(to, "- **Parallel block**")
		item("Providers", strings.Join(providers, ", "))
		item("Stages", strings.Join(stages, ", "))
	case n.Kind == plan.KindPipeline:
		item("Pipeline", n.Ref)
		item("Runs", fmt.Sprint(n.Runs))
	case n.WrapsCommand():
		item("Stage", n.Ref)
	default:
		item("Stage", cmp.Or(n.Ref, "inline prompt"))
		if n.Provider != nil {
			item("Provider", n.Provider.Type+", model "+cmp.Or(n.Provider.Model, "its default"))
		}
		item("Max iterations", iterations(n.Termination.Max()))
		item("Termination", n.Termination.Type())
	}
	item("Time limit", timeLimit(n.Guardrails))
	item("Left out", in.leftOut[in.outer+n.Path])
	if n.ID == in.plan.ExitAfter() {
		item("Ends", "the pipeline is complete when this ends with success or skip")
	}
	writeFlow(in, n, item)
	for _, hook := range hookTexts(in.plan, n) {
		item("Hook", hook)
	}
	item("Description", n.Description)
	if n.Plan != nil {
		item("Time limit of a run", timeLimit(n.Plan.Pipeline.Guardrails))
		for _, hook := range hookTexts(n.Plan, nil) {
			item("Hook inside", hook)
		}
	}
	fmt.Fprintln(to)
	if n.Plan != nil {
		for i := range n.Plan.Nodes {
			writeNode(to, nodeContext{in.complete, n.Plan, in.outer + n.Path + ".", in.leftOut}, fmt.Sprintf("%s.%d", number, i+1), &n.Plan.Nodes[i])
		}
	}
}

// writeFlow writes the facts of a node, and of the stages of a block, that the Bash engine did not have.
func writeFlow(in nodeContext, n *plan.Node, item func(name, text string)) {
	full := *n
	full.Path = in.outer + n.Path
	for _, f := range nodeFacts(in.complete, &full) {
		item(f.name, f.text)
	}
	for i := range n.Stages {
		stage := n.Stages[i]
		stage.Path = in.outer + stage.Path
		for _, f := range nodeFacts(in.complete, &stage) {
			item(f.name+" of "+stage.ID, f.text)
		}
	}
}

// runsText returns the number of runs as text, "" for one.
func runsText(runs int) string {
	if runs < 2 {
		return ""
	}
	return fmt.Sprint(runs)
}

// separator returns the text before the run that begins with the i-th step.
func separator(i int) string {
	if i == 0 {
		return ""
	}
	return "\n"
}

// blockStageText describes a stage of a block.
func blockStageText(n *plan.Node) string {
	if limit := timeLimit(n.Guardrails); limit != "" {
		return n.ID + " (" + limit + ")"
	}
	return n.ID
}

// timeLimit describes the time limit in the guardrails, "" for none.
func timeLimit(g *plan.Guardrails) string {
	if g == nil {
		return ""
	}
	return fmt.Sprintf("%s of running time (guardrails, %s)", g.Limit(), g.Source)
}

func iterations(most int) string {
	if most == 0 {
		return "no limit"
	}
	return fmt.Sprint(most)
}

// writePrompt writes the prompt and the files of a stage's first iteration.
func writePrompt(to io.Writer, s *engine.DryRunStage) {
	id := s.ID
	if s.Branch != "" {
		id += " by " + s.Branch
	}
	title, label, path, text := "Resolved Prompt (Iteration 1)", "Prompt", cmp.Or(s.PromptPath, "inline"), s.Prompt
	if s.Wraps != "" {
		title, label, path, text = "Command", "", "", s.Wraps
	}
	fmt.Fprintf(to, "## %s: %s\n\n", title, id)
	writeRows(to, "Purpose", [][2]string{
		{"Provider", s.Provider},
		{"Model", s.Model},
		{"Sandbox", cli.RequestedIsolation(s.Sandbox)},
		{label, path},
		{"Iteration dir", s.Files.Dir + "/"},
		{"Context file", s.Files.Context},
		{"Result file", s.Files.Result},
		{"Progress file", s.Files.Progress},
		{"Output path", s.Files.Output},
		{"Initial inputs", strings.Join(s.Inputs.Initial, ", ")},
		{"Inputs from " + s.Inputs.From, strings.Join(s.Inputs.Outputs, ", ")},
		{"Inputs from a block", string(s.Inputs.Parallel)},
		{"Commands", strings.Join(s.Commands, ", ")},
		{"Unresolved", strings.Join(s.Unresolved, ", ")},
	})
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	language := "markdown"
	if s.Wraps != "" {
		language = "sh"
	}
	fmt.Fprintf(to, "\n%s%s\n%s\n%s\n\n", fence, language, text, fence)
}

// writePath writes the path that the scheduler takes.
func writePath(to io.Writer, w engine.DryRunPath) {
	fmt.Fprint(to, "## Walk\n\nEvery attempt is assumed to succeed, every check to pass, and every strategy but fixed to stop as soon as it may, unless --assume says otherwise.\n\n")
	run := 0
	for i, s := range w.Steps {
		if s.Run != run {
			run = s.Run
			fmt.Fprintf(to, "%sRun %d:\n\n", separator(i), run)
		}
		fmt.Fprintf(to, "%d. %s", i+1, s.ID)
		if s.Iterations > 0 { // 0 for an embedded pipeline, whose nodes follow
			fmt.Fprintf(to, ": %s, %s", screen.Plural(s.Iterations, "iteration"), screen.Plural(s.Attempts, "attempt"))
		}
		if s.Waiting > 0 {
			fmt.Fprintf(to, ", at least %s of delays", s.Waiting.Round(time.Millisecond))
		}
		if s.Outcome != "" {
			fmt.Fprintf(to, " → %s (%s)", s.Outcome, cmp.Or(s.Reason, "all done"))
		}
		if s.Edge != "" {
			fmt.Fprintf(to, ", cycle %d/%d of %s", s.Cycle, s.Limit, s.Edge)
		}
		fmt.Fprintln(to)
	}
	if w.CutOff {
		fmt.Fprint(to, "\nThe path continues; the preview ends here.\n")
		return
	}
	ending := string(w.Status)
	if (w.Status == state.Failed || w.Status == state.Paused) && w.Reason != "" {
		ending += ": " + w.Reason
	}
	fmt.Fprintf(to, "\nThe run would be %s.\n", ending)
}
