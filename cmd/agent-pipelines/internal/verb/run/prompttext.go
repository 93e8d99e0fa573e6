package run

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/look"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// writeQuestion writes a question in a box; now is the current time.
func writeQuestion(to io.Writer, q engine.Question, now time.Time) {
	head := fmt.Sprintf("%s · %s", q.ID, q.Kind)
	if q.Stage != "" {
		head += " · stage " + look.QuestionStage(q, "%s · provider %s")
	}
	if age := now.Sub(q.AskedAt); age > time.Minute {
		head += " · asked " + screen.Age(age) + " ago"
	}
	lines := append([]string{"Question " + screen.Clean(head), ""}, cli.WrapText(q.Text)...)
	if q.Call != nil {
		lines = append(lines, "")
	}
	for _, about := range look.CallProperties(q.Call) {
		if about.Text != "" {
			lines = append(lines, screen.Lines(about.Name+": "+about.Text)...)
		}
	}
	if q.Remedy != "" {
		lines = append(lines, "What to do: "+screen.Clean(q.Remedy))
	}
	if until := look.DueText(q); until != "" {
		lines = append(lines, "To be answered by "+until)
	}
	if q.Preview != "" {
		lines = append(append(lines, ""), screen.Lines(q.Preview)...)
	}
	if len(q.Files) > 0 {
		lines = append(lines, "")
	}
	for _, f := range q.Files {
		lines = append(lines, "File: "+screen.Clean(f))
	}
	for _, line := range screen.Box(lines...) {
		fmt.Fprintln(to, strings.TrimRight(line, " "))
	}
}

// answerPrompt returns the prompt with the possible answers.
func answerPrompt(q engine.Question) string {
	if q.Kind == event.QuestionTool {
		return "[A]pprove  [D]eny  [V]iew full  [S]kip: "
	}
	words := []string{"[a]pprove", "[r]eject"}
	if q.AcceptFeedback {
		words = append(words, "[f]eedback")
	}
	if len(q.Files) > 0 {
		words = append(words, "[v]iew files")
	}
	return strings.Join(append(words, "[s]kip"), ", ") + ": "
}

// maxFileLines is the number of lines of a file that are printed.
const maxFileLines = 500

// printFile prints the beginning of a text file.
func printFile(to io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 0; lines.Scan(); n++ {
		if n == maxFileLines {
			fmt.Fprintln(to, "  │ …")
			return nil
		}
		fmt.Fprintln(to, strings.TrimRight("  │ "+strings.Join(screen.Lines(lines.Text()), ""), " "))
	}
	return lines.Err()
}
