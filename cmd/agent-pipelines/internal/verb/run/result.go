package run

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/look"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// printResult prints the result of a run on standard output. Without --json, it also prints the failure of a failed
// session, and a warning of secrets, on standard error.
func printResult(a *cli.App, r *engine.Result) {
	if a.JSON {
		a.DocumentLine(document.Result{Result: *r, ExitCode: int(a.Code)}, cli.NextCommandsOfResult(r)...)
		return
	}
	if r.Failure != nil && r.Status == state.Failed {
		cli.FailureFault(r.Failure).Print(a.Stderr)
	}
	writeResult(a.Stdout, r)
	writeSecrets(a.Stderr, r)
}

// writeSecrets warns of secrets in files that agents wrote, which the user may be about to commit.
func writeSecrets(to io.Writer, r *engine.Result) {
	if len(r.Secrets) == 0 {
		return
	}
	fmt.Fprintln(to, "Warning: agents wrote secrets into files, which are left as they are. Take them out before you commit, and renew the keys:")
	for _, d := range r.Secrets {
		fmt.Fprintln(to, "  "+screen.Secret(d))
	}
}

// writeResult writes a result as text.
func writeResult(to io.Writer, r *engine.Result) {
	if r.Status == state.Completed && r.Mode != cli.ModeLoop {
		facts := append([]string{"Session:  " + r.Session}, resultFacts(r)...)
		for _, line := range screen.TitledBox("PIPELINE COMPLETE", facts...) {
			fmt.Fprintln(to, line)
		}
		if r.Runs > 1 {
			for _, line := range screen.Box(fmt.Sprintf("ALL %d PIPELINE RUNS COMPLETE", r.Runs)) {
				fmt.Fprintln(to, line)
			}
		}
		return
	}
	fmt.Fprintf(to, "Session '%s' %s\n", r.Session, resultStatus(r))
	for _, line := range resultFacts(r) {
		fmt.Fprintln(to, "  "+line)
	}
	look.WriteWaiting(to, r.Questions)
	look.WriteResume(to, r.ResumeCommand)
}

func resultStatus(r *engine.Result) string {
	if cli.ReachedMaximum(r) {
		return "reached its maximum of iterations"
	}
	text := string(r.Status)
	if r.Status == state.Paused && r.PauseKind != "" {
		text += " (" + string(r.PauseKind) + ")"
	}
	asked := slices.ContainsFunc(r.Questions, func(q engine.Question) bool { return q.Text == r.Reason && q.Answer == nil })
	if r.Reason != "" && (!asked || screen.Columns(r.Reason) <= cli.TextWidth) { // the wrapped text of a long question follows
		text += ": " + screen.Clean(r.Reason)
	}
	return text
}

// resultFacts returns the lines of a result below its status.
func resultFacts(r *engine.Result) []string {
	var facts []string
	if len(r.Completed) > 0 && r.Mode != cli.ModeLoop {
		facts = append(facts, "Stages:   "+strings.Join(r.Completed, ", "))
	}
	if runs := look.RunText(r.Run, r.Runs); runs != "" && r.Status != state.Completed {
		facts = append(facts, "Run:      "+runs)
	}
	facts = append(facts, "Time:     "+r.Duration.Round(100*time.Millisecond).String())
	if usage := screen.Usage(r.Usage); usage != "" {
		facts = append(facts, "Usage:    "+usage)
	}
	if d := r.Deliverable; d != nil {
		facts = append(facts, "Delivers: "+look.DeliverableText(d))
	}
	return append(facts, "Output:   "+cmp.Or(r.Dir, "none"))
}
