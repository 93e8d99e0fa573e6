package screen

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// status is what a live view shows: the attempt under way and what is known of it.
type status struct {
	active    bool
	session   string
	stage     string
	provider  string
	iteration int
	limit     int
	attempt   int
	since     time.Time // of the iteration's beginning
	total     event.Usage
	current   *sdk.Usage
	progress  sdk.Progress
	doing     string // instead of the agent's progress: waiting, judging
}

// take takes an update in and says whether there is something new to see.
func (s *status) take(u kernel.Update, now time.Time) bool {
	switch {
	case u.Report != nil:
		s.current, s.progress = u.Report.Usage, u.Report.Progress
		return true
	case u.Event == nil || u.State == nil || u.Plan == nil:
		return false
	}
	s.session, s.total = u.Session, u.State.Usage
	switch u.Event.Type {
	case event.IterationStart:
		s.begin(u, now)
	case event.Retry:
		s.attempt, s.current, s.progress, s.doing = u.Event.Attempt, nil, sdk.Progress{}, ""
	case event.IterationComplete, event.Error:
		s.current, s.progress, s.doing = nil, sdk.Progress{}, "deciding what is next"
	case event.JudgeStart:
		s.doing = "the judge reads"
	case event.TimerSet:
		s.doing = "waiting"
	case event.NodeComplete, event.SessionPaused, event.SessionComplete, event.SessionAborted:
		s.active = false
	default:
		return false
	}
	return true
}

func (s *status) begin(u kernel.Update, now time.Time) {
	*s = status{active: true, session: u.Session, total: u.State.Usage, attempt: max(u.Event.Attempt, 1), since: now}
	if u.Event.Cursor == nil {
		return
	}
	s.iteration = u.Event.Cursor.Iteration
	if n := u.Plan.Find(u.Event.Cursor.NodePath); n != nil {
		s.stage, s.provider, s.limit = n.ID, providerOf(n), n.Termination.Max()
	}
}

// lines are the live lines, none while nothing runs.
func (s *status) lines(now time.Time) []string {
	if !s.active {
		return nil
	}
	running := now.Sub(s.since)
	head := fmt.Sprintf("%c %s · iteration %s · %s · %s", spinner(running), s.stage, s.of(), s.provider, Clock(running))
	if s.attempt > 1 {
		head += fmt.Sprintf(" · attempt %d", s.attempt)
	}
	lines := []string{Clean(head)}
	if line := s.work(); line != "" {
		lines = append(lines, "  "+Clean(line))
	}
	return lines
}

func (s *status) of() string {
	if s.limit > 0 {
		return fmt.Sprintf("%d/%d", s.iteration, s.limit)
	}
	return fmt.Sprint(s.iteration)
}

// work is what the agent does and what it has consumed so far.
func (s *status) work() string {
	var parts []string
	if s.progress.Tool != "" {
		parts = append(parts, s.progress.Tool)
	}
	if text := cmp.Or(s.doing, s.progress.Message); text != "" && text != s.progress.Tool {
		parts = append(parts, text)
	}
	if usage := Usage(add(s.total, s.current)); usage != "" {
		parts = append([]string{usage}, parts...)
	}
	return strings.Join(parts, " · ")
}

// add is the sum of what the session consumed and what the attempt under way did.
func add(total event.Usage, current *sdk.Usage) event.Usage {
	if current == nil {
		return total
	}
	total.InputTokens = plus(total.InputTokens, current.InputTokens)
	total.OutputTokens = plus(total.OutputTokens, current.OutputTokens)
	total.CacheReadTokens = plus(total.CacheReadTokens, current.CacheReadTokens)
	total.CacheWriteTokens = plus(total.CacheWriteTokens, current.CacheWriteTokens)
	total.CostUSD = plus(total.CostUSD, current.CostUSD)
	return total
}

func plus[N int64 | float64](a, b *N) *N {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	sum := *a + *b
	return &sum
}

func spinner(running time.Duration) rune {
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	return frames[int(max(running, 0)/redrawEvery)%len(frames)]
}
