package decide

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/look"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/run"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// resumeFlags holds the flags that resume the session after the answer.
type resumeFlags struct {
	Resume bool `help:"Resume the session in this terminal, if no process runs it."`
	Wait   bool `help:"With --resume: wait for answers to later questions instead of pausing."`
}

// Approve is the verb `approve <session> [question]`.
type Approve struct {
	look.QuestionArgs
	Context *string `placeholder:"STRING" help:"Text for the next prompts, appended to $${CONTEXT} or, without it, to the prompt."`
	resumeFlags
}

// Run implements [cli.Verb].
func (v *Approve) Run(ctx context.Context, a *cli.App) error {
	text, err := textArgument("--context", v.Context)
	if err != nil {
		return err
	}
	return submitAnswer(ctx, a, engine.AnswerOptions{Session: v.Session, Question: v.Question, Answer: event.AnswerApprove, Text: text}, v.resumeFlags)
}

// Reject is the verb `reject <session> [question]`.
type Reject struct {
	look.QuestionArgs
	Feedback *string `placeholder:"STRING" help:"Send the stage back with this text. Without it, the session ends. For a tool call: the message to the agent; the session continues."`
	resumeFlags
}

// Run implements [cli.Verb].
func (v *Reject) Run(ctx context.Context, a *cli.App) error {
	text, err := textArgument("--feedback", v.Feedback)
	if err != nil {
		return err
	}
	return submitAnswer(ctx, a, engine.AnswerOptions{Session: v.Session, Question: v.Question, Answer: event.AnswerReject, Text: text}, v.resumeFlags)
}

// Answer is the verb `answer <session> [question] <answer>`, and `answer <session> [question] --from-file FILE`.
type Answer struct {
	Session  string  `arg:"" help:"The session that asks."`
	Question string  `arg:"" optional:"" help:"The question's id; optional if only one is open."`
	Answer   *string `arg:"" optional:"" help:"approve or reject (deny), for a tool call also skip; any other text is feedback if the question accepts it, or for an escalation text for the next prompt."`
	Text     *string `placeholder:"STRING" help:"Text to send with the answer: for the next prompts (approve), as feedback (reject), or to the agent (tool call)."`
	FromFile string  `type:"path" placeholder:"FILE" help:"Answer an escalation with a YAML file: abort, and context for the next prompts."`
	resumeFlags
}

// Run implements [cli.Verb].
func (v *Answer) Run(ctx context.Context, a *cli.App) error {
	text, err := textArgument("--text", v.Text)
	if err != nil {
		return err
	}
	question, word := v.Question, ""
	switch {
	case v.FromFile != "":
		return v.answerFromFile(ctx, a)
	case v.Question == "":
		return cli.UsageError("the answer is missing", "answer approve or reject, give a text, or name a file with --from-file")
	case v.Answer != nil:
		word = *v.Answer
	case questionID.MatchString(v.Question):
		return cli.UsageError("question "+v.Question+" needs an answer", "answer approve or reject, or give a text")
	default:
		question, word = "", v.Question
	}
	o := engine.AnswerOptions{Session: v.Session, Question: question, Answer: word, Text: text}
	switch {
	case slices.Contains([]string{event.AnswerApprove, event.AnswerReject}, word):
	case slices.Contains([]string{look.Deny, event.AnswerSkip}, word) && acceptsSkip(ctx, a, v.Session, question):
		if word == look.Deny {
			o.Answer = event.AnswerReject
		}
	default:
		if _, err := textArgument("the answer", &word); err != nil {
			return err
		}
		if v.Text != nil {
			return cli.UsageError(fmt.Sprintf("%q is neither approve nor reject", word), "with --text say one of them")
		}
		o.Answer, o.Text = "", word // the kind of the question determines the answer
	}
	return submitAnswer(ctx, a, o, v.resumeFlags)
}

// answerFromFile answers with a resolution file.
func (v *Answer) answerFromFile(ctx context.Context, a *cli.App) error {
	if v.Answer != nil || v.Text != nil {
		return cli.UsageError("--from-file takes no other answer and no --text", "the file has the answer; leave the rest out")
	}
	f, err := os.Open(v.FromFile)
	if err != nil {
		return cli.UsageError(err.Error(), "name a file that you can read, with abort: true or false, and context: a text for the next prompts")
	}
	defer f.Close()
	r, err := engine.ReadResolution(v.FromFile, f)
	if err != nil {
		return err
	}
	o := engine.AnswerOptions{Session: v.Session, Question: v.Question}
	o.Answer, o.Text = r.Answer()
	return submitAnswer(ctx, a, o, v.resumeFlags)
}

// questionID matches a question's id, which cannot be an answer.
var questionID = regexp.MustCompile(`^q-[0-9a-f]{8}$`)

// acceptsSkip reports whether a question accepts skip, as a question about a tool call does. Other questions treat deny and
// skip as feedback.
func acceptsSkip(ctx context.Context, a *cli.App, session, question string) bool {
	accepts := false
	err := a.WithEngine(ctx, func(e *engine.Engine) error {
		all, err := e.Questions(session)
		accepts = slices.ContainsFunc(all, func(q engine.Question) bool {
			return (q.ID == question || question == "") && slices.Contains(q.Options, event.AnswerSkip)
		})
		return err
	})
	return err == nil && accepts // the answer itself reports an error of the session
}

// textArgument returns the text of a flag or an argument, "" if it is absent. An empty text is an error, as it may be an unset
// variable of a script: a rejection without a text ends the session.
func textArgument(name string, text *string) (string, error) {
	if text == nil {
		return "", nil
	}
	if strings.TrimSpace(*text) == "" {
		return "", cli.UsageError(name+" is empty", "give a text, or leave it out: approve and reject need no text, and reject without one ends the session")
	}
	return *text, nil
}

// Feedback is the verb `feedback <session> <text>`.
type Feedback struct {
	Session string `arg:"" help:"The session of the agents."`
	Text    string `arg:"" help:"Text for the next prompts."`
}

// Run implements [cli.Verb].
func (v *Feedback) Run(ctx context.Context, a *cli.App) error {
	return a.WithEngine(ctx, func(e *engine.Engine) error {
		if err := e.Feedback(ctx, v.Session, v.Text, a.User()); err != nil {
			return err
		}
		s, err := e.Status(v.Session)
		if err != nil {
			return err
		}
		return a.Print(document.Reply{Session: v.Session, Requested: "feedback", Owned: s.Locked, ResumeCommand: s.ResumeCommand}, func(to io.Writer) {
			fmt.Fprintf(to, "The next prompts of session '%s' will contain it.\n", v.Session)
			look.WriteResume(to, s.ResumeCommand)
		}, cli.NextCommands(s)...)
	})
}

// submitAnswer answers a question, and resumes the session if then.Resume is set.
func submitAnswer(ctx context.Context, a *cli.App, o engine.AnswerOptions, then resumeFlags) error {
	o.By = a.User()
	var s *engine.Status
	var q engine.Question
	err := a.WithEngine(ctx, func(e *engine.Engine) error {
		asked, err := e.Questions(o.Session)
		if err != nil {
			return err
		}
		open := slices.DeleteFunc(asked, func(q engine.Question) bool { return q.Answer != nil || o.Question != "" && q.ID != o.Question })
		if len(open) == 1 { // otherwise the engine reports the error
			q = open[0]
			o.Question = q.ID
		}
		if o.Answer == "" {
			o.Answer = impliedAnswer(q)
		}
		if err := e.Answer(ctx, o); err != nil {
			return err
		}
		s, err = e.Status(o.Session)
		return err
	})
	if err != nil {
		return err
	}
	if then.Resume && !s.Locked && !s.Status.Final() {
		if !a.JSON { // standard output holds only the result
			fmt.Fprintln(a.Stderr, answerText(q, o, s))
		}
		return run.ResumeSession(ctx, a, engine.ResumeOptions{Session: o.Session, Wait: then.Wait})
	}
	return a.Print(document.Reply{
		Session: o.Session, Requested: "answer", Question: o.Question, Answer: o.Answer, Owned: s.Locked, Status: s.Status,
		ResumeCommand: s.ResumeCommand,
	}, func(to io.Writer) {
		fmt.Fprintln(to, answerText(q, o, s))
		look.WriteResume(to, s.ResumeCommand)
	}, cli.NextCommands(s)...)
}

// impliedAnswer returns the answer that a bare text implies: for an escalation an approval with text for the next prompt, for
// other questions a rejection with feedback.
func impliedAnswer(q engine.Question) string {
	if q.Kind == event.QuestionEscalation && !q.AcceptFeedback {
		return event.AnswerApprove
	}
	return event.AnswerReject
}

// answerText describes the effect of an answer.
func answerText(q engine.Question, o engine.AnswerOptions, s *engine.Status) string {
	effect := map[string]string{event.AnswerApprove: "is approved", event.AnswerReject: "is rejected", event.AnswerSkip: "is skipped"}[o.Answer]
	if o.Answer == event.AnswerReject && o.Text != "" && q.Kind != event.QuestionTool {
		effect = "is sent back with your feedback"
	}
	line := fmt.Sprintf("Question %s of session '%s' %s", o.Question, o.Session, effect)
	switch {
	case s.Locked:
		line += "; the process that owns the session continues"
	case s.Status.Final():
		line += "; the session has ended"
	}
	return line + "."
}
