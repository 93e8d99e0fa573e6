package look

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/why"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
)

// Why is the verb `why <session>`.
type Why struct {
	Session string `arg:"" help:"The session."`
	Limit   uint32 `default:"20" placeholder:"N" help:"Maximum number of causes, the newest first; 0: all (default 20)."`
}

// Help returns the text below the usage.
func (*Why) Help() string {
	return `The first line explains the session's status. Below it are the commands that continue, and the causes, the
newest first; a repeated cause is shown once.`
}

// Run implements [cli.Verb].
func (v *Why) Run(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (why.Explanation, error) {
		answer, err := ExplainSession(e, v.Session)
		if n, limit := len(answer.Chain), int(v.Limit); limit > 0 && n > limit {
			answer.LeftOut += n - limit
			answer.Chain = answer.Chain[:limit]
		}
		return answer, err
	}, func(to io.Writer, answer why.Explanation) { writeWhy(to, answer, time.Now()) }, func(answer why.Explanation) []string { return cli.ExecutableCommands(answer.Next) })
}

// ExplainSession returns the explanation of a session's status. It reads the journal once.
func ExplainSession(e *engine.Engine, session string) (why.Explanation, error) {
	var chain *why.Causes
	s, err := e.Inspect(session, func(t *timeline.Timeline) func(timeline.Entry) {
		chain = why.NewCauses(t)
		return chain.Observe
	})
	if err != nil {
		return why.Explanation{}, err
	}
	return why.Explain(s.Status, chain), nil
}

// writeWhy writes an explanation as text; now is the current time.
func writeWhy(to io.Writer, a why.Explanation, now time.Time) {
	page := textPage(to)
	since := ""
	if a.Since != nil && !a.Since.IsZero() {
		since = fmt.Sprintf(" [since %s, %s ago]", a.Since.Local().Format(time.DateTime), screen.Age(now.Sub(*a.Since)))
	}
	page.Text("", fmt.Sprintf("Session '%s' %s.%s", a.Session, strings.TrimRight(a.Text, "."), since))
	for _, text := range a.More {
		page.Text("  ", text)
	}
	if a.Damage != "" {
		page.Text("  ", "Not all of its files can be read: "+a.Damage)
	}
	if a.Tampered != "" {
		page.Text("  ", why.TamperedText(a.Tampered, a.Next[0].Line))
	}
	if len(a.Next) > 0 {
		fmt.Fprintln(to, "\nWhat to do next:")
		width := screen.Columns(slices.MaxFunc(a.Next, func(x, y why.Command) int { return screen.Columns(x.Line) - screen.Columns(y.Line) }).Line)
		for _, c := range a.Next {
			fmt.Fprintf(to, "  %-*s  %s\n", width, screen.Clean(c.Line), c.Does)
		}
	}
	if len(a.Chain) == 0 {
		return
	}
	fmt.Fprintln(to, "\nWhat led to it, the newest first:")
	for _, l := range a.Chain {
		at := l.At
		if l.Until != nil {
			at = *l.Until
		}
		begin := at.Local().Format("  " + time.DateTime + "  ")
		page.HangingText(begin, strings.Repeat(" ", len(begin)), l.Text)
	}
	if a.LeftOut > 0 {
		fmt.Fprintf(to, "  … and %s before that (--limit 0 shows all)\n", screen.Plural(a.LeftOut, "thing"))
	}
}

// textPage returns a page of the width of texts, for a terminal and for a file alike.
func textPage(to io.Writer) cli.InfoPage { return cli.InfoPage{To: to, Width: cli.TextWidth} }
