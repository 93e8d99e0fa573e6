package look

import (
	"fmt"
	"io"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
)

// WriteResume says how to go on, if there is something to go on with.
func WriteResume(to io.Writer, command string) {
	if command != "" {
		fmt.Fprintln(to, "To resume: "+command)
	}
}

// WriteWaiting tells who looks at a session what it waits for, and how to answer.
func WriteWaiting(to io.Writer, all []engine.Question) {
	for _, q := range all {
		about := ""
		if q.Stage != "" {
			about = " (stage " + PlaceOf(q, "%s, provider %s") + ")"
		}
		if q.Answer != nil {
			fmt.Fprintf(to, "Question %s%s is %s\n", q.ID, about, answered(q))
			continue
		}
		text := screen.Clean(q.Text)
		if q.Code != "" {
			text += " [" + q.Code + "]"
		}
		for i, line := range screen.Wrap(fmt.Sprintf("Waiting for you: %s%s: %s", q.ID, about, text), cli.TextWidth, cli.TextWidth-2) {
			if i > 0 {
				line = "  " + line
			}
			fmt.Fprintln(to, line)
		}
		if q.Remedy != "" {
			fmt.Fprintln(to, "  What to do: "+screen.Clean(q.Remedy))
		}
		if until := Due(q); until != "" {
			fmt.Fprintln(to, "  To be answered by "+until)
		}
		fmt.Fprintln(to, "  To look at it: "+q.Commands.Show)
		writeCommands(to, q)
	}
}
