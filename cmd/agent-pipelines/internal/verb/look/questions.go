package look

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Questions is the verb `questions` with its subcommands list and show.
type Questions struct {
	List questionsListVerb `cmd:"" help:"List open questions of one or all sessions."`
	Show questionsShowVerb `cmd:"" help:"Show a question and how to answer it."`
}

// questionsListVerb is the verb `questions list [session]`.
type questionsListVerb struct {
	Session string `arg:"" optional:"" help:"The session (default all of the project)."`
}

// Run implements [cli.Verb].
func (v *questionsListVerb) Run(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (document.Questions, error) {
		all, err := OpenQuestions(e, v.Session, func(session string, err error) { fmt.Fprintf(a.Stderr, "session '%s': %v\n", session, err) })
		return document.Questions{Questions: append([]engine.Question{}, all...)}, err
	}, func(to io.Writer, all document.Questions) { writeQuestions(to, all.Questions, time.Now()) }, answerCommands)
}

// OpenQuestions returns the open questions of a session, of all sessions for "". For all
// sessions, it calls unread with each session that cannot be read.
func OpenQuestions(e *engine.Engine, session string, unread func(session string, err error)) ([]engine.Question, error) {
	if session != "" {
		return e.Questions(session)
	}
	sessions, err := e.Sessions()
	if err != nil {
		return nil, err
	}
	var all []engine.Question
	for _, s := range sessions {
		if s.Status.Final() {
			continue
		}
		asked, err := e.Questions(s.Session)
		if err != nil { // the questions of other sessions are still listed
			unread(s.Session, err)
		}
		all = append(all, asked...)
	}
	return all, nil
}

// writeQuestions writes a table of questions; now is the current time.
func writeQuestions(to io.Writer, all []engine.Question, now time.Time) {
	if len(all) == 0 {
		fmt.Fprintln(to, "No questions are open.")
		return
	}
	const columns = "  %-*s %-12s %-10s %-16s %-10s %s\n"
	width := cli.NameWidth(all, func(q engine.Question) string { return q.Session })
	fmt.Fprintf(to, "Open questions:\n\n"+columns, width, "SESSION", "QUESTION", "KIND", "STAGE", "AGE", "TEXT")
	for _, q := range all {
		text := screen.Clean(q.Text)
		if q.Answer != nil {
			text = "(" + answerText(q) + ") " + text
		}
		fmt.Fprintf(to, columns, width, q.Session, q.ID, q.Kind, screen.Clean(cmp.Or(QuestionStage(q, "%s (%s)"), "-")), screen.Age(now.Sub(q.AskedAt))+" ago", text)
	}
	fmt.Fprintf(to, "\n`%s questions show <session> [question]` shows one with the commands that answer it.\n", cli.Program)
}

// QuestionStage returns the stage of a question, or in a parallel block the stage and the provider, joined by format.
func QuestionStage(q engine.Question, format string) string {
	if q.Provider == "" {
		return q.Stage
	}
	return fmt.Sprintf(format, q.Stage, q.Provider)
}

// questionsShowVerb is the verb `questions show <session> [question]`.
type questionsShowVerb struct {
	QuestionArgs
}

// Run implements [cli.Verb].
func (v *questionsShowVerb) Run(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (document.Questions, error) {
		all, err := e.Questions(v.Session)
		chosen := slices.DeleteFunc(all, func(q engine.Question) bool { return v.Question != "" && q.ID != v.Question })
		if err == nil && len(chosen) == 0 {
			err = noQuestion(v.Session, v.Question)
		}
		return document.Questions{Questions: chosen}, err
	}, func(to io.Writer, chosen document.Questions) {
		for i, q := range chosen.Questions {
			if i > 0 {
				fmt.Fprintln(to)
			}
			writeQuestion(to, q, time.Now())
		}
	}, answerCommands)
}

// answerCommands returns the commands that show and answer questions.
func answerCommands(all document.Questions) []string { return cli.AnswerCommands(all.Questions) }

func noQuestion(session, question string) error {
	text := fmt.Sprintf("session '%s' asks nothing", session)
	if question != "" {
		text = fmt.Sprintf("session '%s' has no question %s open", session, question)
	}
	missing := failure.New(failure.SessionState, "%s", text)
	missing.Cause = engine.ErrNoQuestion
	return missing.WithHint("run `%s questions list` for the open questions, or `%s status %s` for the session's status", cli.Program, cli.Program, session)
}

// writeQuestion writes a question with its details; now is the current time.
func writeQuestion(to io.Writer, q engine.Question, now time.Time) {
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(to, "%-10s %s\n", name+":", screen.Clean(text))
		}
	}
	row("Question", q.ID)
	row("Session", q.Session)
	row("Kind", q.Kind)
	row("Code", q.Code)
	row("Stage", q.Stage)
	row("Provider", q.Provider)
	row("Asked", fmt.Sprintf("%s ago (%s)", screen.Age(now.Sub(q.AskedAt)), q.AskedAt.Local().Format("2006-01-02 15:04:05")))
	row("Due", DueText(q))
	row("Remedy", q.Remedy)
	if q.Escalation != nil {
		row("Escalation", q.Escalation.File)
	}
	for _, r := range CallProperties(q.Call) {
		row(r.Name, r.Text)
	}
	fmt.Fprintln(to)
	for _, line := range cli.WrapText(q.Text) {
		fmt.Fprintln(to, strings.TrimRight("  "+line, " "))
	}
	if q.Preview != "" {
		fmt.Fprintln(to, "\nPreview:")
		for _, line := range screen.Lines(q.Preview) {
			fmt.Fprintln(to, strings.TrimRight("  │ "+line, " "))
		}
	}
	if len(q.Files) > 0 {
		fmt.Fprintln(to, "\nFiles:")
		for _, f := range q.Files {
			fmt.Fprintln(to, "  "+screen.Clean(f))
		}
	}
	fmt.Fprintln(to)
	if q.Answer != nil {
		fmt.Fprintf(to, "It is %s; the run has not applied the answer yet.\n", answerText(q))
		return
	}
	writeCommands(to, q)
}

// DueText returns the time limit of a question and the action after it; "" without a limit.
func DueText(q engine.Question) string {
	if q.Due == nil {
		return ""
	}
	text := q.Due.Local().Format("2006-01-02 15:04:05")
	if then := map[string]string{"abort": "ends", "pause": "pauses", "failed": "fails"}[q.OnTimeout]; then != "" {
		text += ", or the session " + then
	}
	return text
}

// CallProperty is a named property of a tool call.
type CallProperty struct{ Name, Text string }

// CallProperties returns the properties of a tool call that the user needs for the decision, nil for nil. A text may be empty.
func CallProperties(c *event.AskedCall) []CallProperty {
	if c == nil {
		return nil
	}
	return []CallProperty{
		{"Operation", c.Operation},
		{"Paths", strings.Join(c.Paths, ", ")},
		{"Command", c.Command},
		{"Risk", c.Risk},
		{"Why", c.Reason},
		{"Rule", c.Rule},
	}
}

// writeCommands writes the commands that answer a question.
func writeCommands(to io.Writer, q engine.Question) {
	reject, feedback := "To reject, which ends the session:", "To send it back:"
	if q.Kind == event.QuestionTool {
		reject, feedback = "To reject:", "To reject with a reason:"
	}
	approve, withText, resetCycles := "To approve:", "", ""
	if q.Kind == event.QuestionEscalation && q.Commands.Approve != "" {
		approve, withText = "To continue:", q.Commands.Approve+" --context TEXT"
	}
	if q.Code == failure.CycleLimit.Code() {
		resetCycles = cli.Program + " resume " + q.Session + " --reset-cycles"
	}
	for _, c := range []struct{ name, line string }{
		{approve, q.Commands.Approve},
		{"To continue with a text for the next prompt:", withText},
		{"To continue and reset the cycle counts:", resetCycles},
		{"To continue without the failed step:", q.Commands.SkipFailedStep},
		{reject, q.Commands.Reject},
		{feedback, q.Commands.Feedback},
		{"To leave it out:", q.Commands.Skip},
	} {
		if c.line != "" {
			fmt.Fprintln(to, "  "+c.name+" "+c.line)
		}
	}
	if q.Escalation != nil {
		writeResolution(to, *q.Escalation, q.Commands.FromFile)
	}
}

// writeResolution writes how to answer an escalation by a file, and the state of that file. command answers with a file
// where a file in the session's directory does not.
func writeResolution(to io.Writer, e inspect.Escalation, command string) {
	if e.Resolution == "" {
		fmt.Fprintf(to, "  To answer it by a file: write %s to FILE, then %s\n", e.Example, command)
	} else {
		fmt.Fprintf(to, "  To answer it by a file: write %s to %s\n", e.Example, screen.Clean(e.Resolution))
	}
	if e.Resolved {
		fmt.Fprintln(to, "  That file exists; the session will apply it.")
	}
	if len(e.Faults) > 0 {
		fmt.Fprintln(to, "  "+invalidFile(e)+":")
		for _, d := range e.Faults {
			fmt.Fprintln(to, "    "+screen.Clean(d.String()))
		}
	}
}

// invalidFile says that the escalation's resolution file does not answer it.
func invalidFile(e inspect.Escalation) string {
	if e.Resolution == "" {
		return "A file next to the escalation does not answer it"
	}
	return "That file exists, but is invalid"
}

// answerText describes the answer to a question.
func answerText(q engine.Question) string {
	text := "answered: " + q.Answer.Option
	if q.Answer.By != "" {
		text += " by " + q.Answer.By
	}
	return screen.Clean(text)
}

// QuestionArgs holds the arguments that identify a question.
type QuestionArgs struct {
	Session  string `arg:"" help:"The session that asks."`
	Question string `arg:"" optional:"" help:"The question's id (default the open one)."`
}

// Deny is another word for the rejection of a tool call.
const Deny = "deny"
