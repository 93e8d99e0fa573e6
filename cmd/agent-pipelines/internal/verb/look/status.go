package look

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/why"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/inspect"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Status is the verb `status <session>`.
type Status struct {
	Session string `arg:"" help:"The session to show."`
}

// Run implements [cli.Verb].
func (v *Status) Run(ctx context.Context, a *cli.App) error {
	return cli.Show(ctx, a, func(e *engine.Engine) (*engine.Status, error) { return e.Status(v.Session) }, func(to io.Writer, s *engine.Status) {
		writeStatus(to, s, time.Now())
	}, cli.NextCommands)
}

// writeStatus writes a status as text; now is the current time.
func writeStatus(to io.Writer, s *engine.Status, now time.Time) {
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(to, "%-15s %s\n", name+":", screen.Clean(text))
		}
	}
	row("Session", s.Session)
	row("Status", StatusText(s))
	if s.Reason != "" {
		textPage(to).HangingText(fmt.Sprintf("%-15s ", "Reason:"), strings.Repeat(" ", 16), s.Reason)
	}
	row("Run", RunText(s.Run, s.Runs))
	row("Node", nodeText(s))
	row("Provider", s.Provider)
	if len(s.Providers) == 0 {
		row("Iteration", iterationText(s.Iteration, s.Max, s.Attempt))
	}
	for i := range s.Providers {
		p := &s.Providers[i]
		row("  "+p.Provider, providerText(p))
	}
	writeProgress(to, row, s)
	if s.LastEvent != "" {
		row("Last event", fmt.Sprintf("%s (%s ago)", s.LastEvent, screen.Age(now.Sub(s.LastEventAt))))
	}
	row("Health", healthText(s))
	errors := s.Health.Errors
	if s.Failure != nil { // not every failure has an error event
		errors = max(errors, 1)
	}
	row("Errors", strconv.Itoa(errors))
	row("Duration", elapsedText(s, now))
	row("Usage", screen.Usage(s.Usage))
	for _, text := range cli.IsolationLines(s.Plugins) {
		row("Sandbox", text)
	}
	writeFound(row, s)
	if s.Deliverable != nil {
		row("Deliverable", DeliverableText(s.Deliverable))
	}
	row("Damage", s.Damage)
	row("Run dir", s.Dir)
	if s.Failure != nil {
		cli.FailureFault(s.Failure).Print(to)
	}
	WriteWaiting(to, s.Questions)
	WriteResume(to, s.ResumeCommand)
	if canSkipStep(s) {
		fmt.Fprintf(to, "To continue without the failed step: %s --skip-failed-step\n", s.ResumeCommand)
	}
	if s.Tampered != "" {
		textPage(to).Text("", why.TamperedText(s.Tampered, s.VerifyCommand))
	}
	if s.RepairCommand != "" {
		fmt.Fprintf(to, "To repair: %s (with --dry-run it only shows its findings)\n", s.RepairCommand)
	}
}

// survivorText describes a process that outlived its attempt.
func survivorText(p inspect.Survivor) string {
	end := "ended"
	if !p.Ended {
		end = "SIGKILL does not end it"
	}
	return fmt.Sprintf("process %d (%s), %s", p.PID, event.Truncate(p.Command, 80), end)
}

// writeFound writes what the run found: secrets, checks without a command, refused messages, processes left behind, and
// late deliveries.
func writeFound(row func(name, text string), s *engine.Status) {
	for _, d := range s.Secrets {
		row("Secret found", screen.Secret(d))
	}
	row("Measured", screen.Unmeasured(s.Unmeasured))
	for _, d := range s.Refused {
		row("Refused", screen.Refused(d))
	}
	for _, p := range s.Survivors {
		row("Left behind", survivorText(p))
	}
	for i := range s.Late {
		row("Late", screen.Late(s.Late[i].LateDeliveryData))
	}
}

// StatusText describes a session's status.
func StatusText(s *engine.Status) string {
	switch {
	case s.Crashed:
		return "crashed (its process is gone; the work that was finished is kept)"
	case s.Status == state.Paused && s.PauseKind != "":
		if s.PauseCode != "" {
			return fmt.Sprintf("%s (%s, %s)", s.Status, s.PauseKind, s.PauseCode)
		}
		return fmt.Sprintf("%s (%s)", s.Status, s.PauseKind)
	case s.Status == "":
		return "never began"
	case s.PID > 0:
		return fmt.Sprintf("%s (PID %d)", s.Status, s.PID)
	default:
		return string(s.Status)
	}
}

// RunText returns the number of the current run, "2 of 3"; "" for a pipeline that runs once.
func RunText(run, runs int) string {
	if runs == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", run, runs)
}

func nodeText(s *engine.Status) string {
	if s.Node == "" {
		return ""
	}
	kind := cmp.Or(s.Type, "inline")
	if len(s.Providers) > 0 {
		kind = "parallel"
	}
	return fmt.Sprintf("%s (%s/%s)", s.Node, s.Stage, kind)
}

func iterationText(number, limit, attempt int) string {
	text := fmt.Sprint(number)
	if limit >= number { // retries of a stage may exceed the limit
		text += fmt.Sprintf("/%d", limit)
	}
	if attempt > 1 {
		text += fmt.Sprintf(" (attempt %d)", attempt)
	}
	return text
}

// providerText describes a provider of a parallel block: "running, stage ideas, iteration 1/2".
func providerText(p *inspect.ProviderStatus) string {
	text := p.Status
	if p.Stage != "" && p.Status != string(state.NodeComplete) {
		text += fmt.Sprintf(", stage %s, iteration %s", p.Stage, iterationText(p.Iteration, p.Max, p.Attempt))
	}
	if p.Failure != nil {
		text += ": " + p.Failure.Message
	}
	return text
}

// healthText returns the Bash engine's label, with the score if it is below 1.
func healthText(s *engine.Status) string {
	h := s.Health
	limit := ""
	if h.Label == inspect.HealthWarning {
		limit = fmt.Sprintf(", below %.2f", inspect.HealthThreshold)
	}
	switch {
	case s.Events == 0:
		return ""
	case h.Score < 1:
		return fmt.Sprintf("%s (%.2f%s: %s)", h.Label, h.Score, limit, healthCauses(h))
	default:
		return h.Label
	}
}

// healthCauses lists the causes of a low score.
func healthCauses(h inspect.Health) string {
	var parts []string
	if h.ConsecutiveErrors > 0 {
		parts = append(parts, screen.Plural(h.ConsecutiveErrors, "error")+" in a row")
	}
	if h.WithoutProgress > 0 {
		parts = append(parts, screen.Plural(h.WithoutProgress, "iteration")+" without progress")
	}
	return strings.Join(parts, ", ")
}

// elapsedText returns the time from the start to the end, or to now.
func elapsedText(s *engine.Status, now time.Time) string {
	if s.StartedAt.IsZero() {
		return ""
	}
	end := now
	if s.EndedAt != nil {
		end = *s.EndedAt
	}
	return screen.Age(end.Sub(s.StartedAt))
}

// DeliverableText describes a deliverable: "specification of spec, <path>".
func DeliverableText(d *inspect.Deliverable) string {
	return fmt.Sprintf("%s of %s, %s", cmp.Or(d.Type, "artifact"), d.Stage, d.Artifact)
}
