package author

import (
	"fmt"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/engine/crashtest"
)

// baselineText describes the undisturbed runs.
func baselineText(r crashtest.Report) string {
	text := fmt.Sprintf("Undisturbed: %s, %s of the journal.", r.Undisturbed.Round(10*time.Millisecond), screen.Plural(r.Lines, "line"))
	if r.Approvals > 0 {
		text += fmt.Sprintf(" %s of the user: approved.", screen.Plural(r.Approvals, "question"))
	}
	return text
}

// trialText describes one trial on one line.
func trialText(t crashtest.Trial, total int) string {
	result := "the same end"
	if !t.Equal() {
		result = screen.Plural(len(t.Differences), "difference")
		if len(t.LeftProcesses) > 0 {
			result += fmt.Sprintf(", processes left: %d", len(t.LeftProcesses))
		}
	}
	return fmt.Sprintf("Trial %d of %d: %s; %s.", t.N, total, killsText(t), result)
}

func killsText(t crashtest.Trial) string {
	if t.Kills == 0 {
		return "it ended before the kill"
	}
	return "killed " + strings.Join(t.Positions, ", and ")
}

// maxDifferences is the number of differences of a trial that are printed; --json has all.
const maxDifferences = 5

// reportText describes the results of all trials.
func reportText(name string, r crashtest.Report) string {
	var b strings.Builder
	kills, resumes, other := 0, 0, 0
	for _, t := range r.Trials {
		kills, resumes = kills+t.Kills, resumes+t.Resumes
		if !t.Equal() {
			other++
		}
	}
	fmt.Fprintf(&b, "crashtest %s: %s, %s, %s: ", name, screen.Plural(len(r.Trials), "trial"), screen.Plural(kills, "kill"), screen.Plural(resumes, "resume"))
	if other == 0 {
		b.WriteString("no difference, and no process left.\n")
	} else {
		fmt.Fprintf(&b, "differences or left processes in %s.\n", screen.Plural(other, "trial"))
	}
	for _, t := range r.Trials {
		if !t.Equal() {
			writeTrial(&b, t)
		}
	}
	if other > 0 {
		fmt.Fprintf(&b, "Undisturbed: %s\n", r.Dir)
	}
	if len(r.NotCopied) > 0 {
		fmt.Fprintf(&b, "Not copied: %s\n", strings.Join(r.NotCopied, ", "))
	}
	if len(r.Unstable) > 0 {
		b.WriteString("Not compared, since two undisturbed runs differ in it:\n")
		for _, d := range r.Unstable {
			fmt.Fprintf(&b, "  %s\n", strings.TrimSuffix(d.Where+", "+d.Path, ", "))
		}
	}
	if other == 0 && r.Dir != "" {
		fmt.Fprintf(&b, "Kept: %s\n", r.Dir)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func writeTrial(b *strings.Builder, t crashtest.Trial) {
	fmt.Fprintf(b, "Trial %d, %s:\n", t.N, killsText(t))
	writeDifferences(b, t.Differences)
	for _, p := range t.LeftProcesses {
		ended := "has been ended"
		if !p.Ended {
			ended = "could not be ended"
		}
		fmt.Fprintf(b, "  process %d outlived the run, and %s: %s\n", p.PID, ended, p.Command)
	}
	fmt.Fprintf(b, "  Its copy: %s\n  Again:    the same line with --only %d\n", t.Dir, t.N)
}

func writeDifferences(b *strings.Builder, list []crashtest.Difference) {
	for _, d := range list[:min(len(list), maxDifferences)] {
		fmt.Fprintf(b, "  %s\n", d)
	}
	if more := len(list) - maxDifferences; more > 0 {
		fmt.Fprintf(b, "  … and %d more (--json has all)\n", more)
	}
}
