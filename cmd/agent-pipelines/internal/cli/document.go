package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/why"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Document prints what a verb has to tell, with the lines that can be typed next, as one JSON document, indented. A reader
// that is gone needs nothing more.
func (a *App) Document(value any, next ...string) {
	var b bytes.Buffer
	if err := json.Indent(&b, marshalled(value, next), "", "  "); err != nil {
		panic(fmt.Sprintf("%T marshals to no JSON: %v", value, err))
	}
	_, _ = a.Stdout.Write(append(b.Bytes(), '\n'))
}

// DocumentLine prints a document in one line, as all must that may stand behind events.
func (a *App) DocumentLine(value any, next ...string) {
	_, _ = a.Stdout.Write(append(marshalled(value, next), '\n'))
}

// marshalled is a document. What is printed has a shape and marshals, else a programmer forgot something.
func marshalled(value any, next []string) []byte {
	b, err := document.Marshal(value, next...)
	if err != nil {
		panic(err)
	}
	return b
}

// NextOf are the lines that go on from where a session is, the likeliest first.
func NextOf(s *engine.Status) []string {
	next := Typed(why.Next(s))
	switch s.Status {
	case state.Paused, state.Failed, state.Running:
		return append(next, Program+" why "+s.Session)
	default:
		return next
	}
}

// NextOfResult is the same for a run that ended or waits.
func NextOfResult(r *engine.Result) []string {
	return NextOf(&engine.Status{
		Session: r.Session, Status: r.Status, PauseKind: r.PauseKind, PauseCode: r.PauseCode, Failure: r.Failure,
		Questions: r.Questions, ResumeCommand: r.ResumeCommand,
	})
}

// Typed are those commands that can be typed as they are: in the others something has to be put in.
func Typed(commands []why.Command) []string {
	lines := []string{}
	for _, c := range commands {
		if !strings.HasSuffix(c.Line, " "+textWord) {
			lines = append(lines, c.Line)
		}
	}
	return lines
}

// textWord stands for what a person has to say, in the commands that answer a question.
const textWord = "TEXT"

// AnswersTo are the lines that show and answer open questions.
func AnswersTo(all []engine.Question) []string {
	lines := []string{}
	for _, q := range all {
		if q.Answer != nil {
			continue
		}
		for _, line := range []string{q.Commands.Show, q.Commands.Approve, q.Commands.SkipFailedStep, q.Commands.Skip, q.Commands.Reject} {
			if line != "" {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// quotedLine is a line of this program that a hint quotes.
var quotedLine = regexp.MustCompile("`(" + Program + " [^`]+)`")

// blank is something in such a line that a person has to fill in, or that a shell would not take as it stands: hints quote what
// was typed, or what a plugin said.
var blank = regexp.MustCompile(`[<>…;&|$(){}\\"'*?#~\t\n]|\.\.\.|\b[A-Z][A-Z_]+\b`)

// drastic is a line that ends or throws away what somebody may still want.
var drastic = regexp.MustCompile(`^` + Program + ` abort | --force\b`)

// Next are the lines that a fault's hint quotes and that can be typed as they are, by a program, too, and the one that explains
// its code.
func (f Fault) Next() []string {
	lines := []string{}
	for _, found := range quotedLine.FindAllStringSubmatch(f.Hint, -1) {
		if line := found[1]; !blank.MatchString(line) && !drastic.MatchString(line) && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if f.Code != "" {
		lines = append(lines, Program+" explain "+f.subject())
	}
	return lines
}
