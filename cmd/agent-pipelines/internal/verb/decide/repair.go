package decide

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/look"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// Repair is the verb `repair <session>`.
type Repair struct {
	Session string `arg:"" help:"The session to repair."`
	DryRun  bool   `help:"Show the repair without changing anything."`
	At      string `placeholder:"NODE[:ITERATION]" help:"Continue at this node and iteration instead of the recovered place."`
}

// Run implements [cli.Verb].
func (v *Repair) Run(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (*engine.Repair, error) {
		return e.Repair(ctx, engine.RepairOptions{Session: v.Session, At: v.At, DryRun: v.DryRun})
	}, writeRepair)
}

// writeRepair writes the result of a repair as text.
func writeRepair(to io.Writer, r *engine.Repair) {
	if r.Intact {
		fmt.Fprintf(to, "Session '%s' needs no repair; nothing was changed.\n", r.Session)
		return
	}
	for _, lost := range r.Lost {
		fmt.Fprintln(to, "Lost:      "+screen.Clean(lost))
	}
	if r.Doubt != "" {
		fmt.Fprintln(to, "In doubt:  "+screen.Clean(r.Doubt))
	}
	if len(r.Completed) > 0 {
		fmt.Fprintln(to, "Complete:  "+screen.Clean(strings.Join(r.Completed, ", ")))
	}
	fmt.Fprintln(to, "Status:    "+string(r.Status))
	if !r.Status.Final() {
		fmt.Fprintln(to, "Continues: "+resumePoint(r))
	}
	switch {
	case r.DryRun:
		fmt.Fprintf(to, "Nothing was changed. `%s repair %s` makes the repair; --at NODE:ITERATION selects another place.\n", cli.Program, r.Session)
	default:
		if r.OldJournal != "" {
			fmt.Fprintln(to, "Kept:      "+r.OldJournal)
		}
		fmt.Fprintf(to, "Session '%s' is repaired.\n", r.Session)
		if r.ResumeCommand != "" {
			fmt.Fprintln(to, "To resume: "+r.ResumeCommand)
		}
	}
}

// resumePoint describes the node at which a resume continues.
func resumePoint(r *engine.Repair) string {
	text := nodeText(r)
	if runs := look.RunText(r.Run, r.Runs); runs != "" {
		text += " (run " + runs + ")"
	}
	return text
}

func nodeText(r *engine.Repair) string {
	switch {
	case r.Stage == "":
		return "past the last node"
	case r.Iteration > 0:
		return screen.Clean(fmt.Sprintf("node %s, iteration %d", r.Stage, r.Iteration))
	default:
		return screen.Clean("node " + r.Stage)
	}
}
