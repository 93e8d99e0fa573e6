package screen

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// These are the control sequences that notify the user.
const (
	saveTitle = "\x1b[22;0t"
	title     = "\x1b]0;" // the title and a bell follow
	bell      = "\a"
	calm      = title + bell + "\x1b[23;0t" // an empty title, for terminals that did not save the title
)

// longRun is the minimum duration of a run whose end is notified.
const longRun = 30 * time.Second

// IsSilent reports whether AGENT_PIPELINES_BELL=0 turns the notifications off.
func IsSilent(getenv func(string) string) bool { return getenv("AGENT_PIPELINES_BELL") == "0" }

// Notifier notifies the user about a session, by the terminal's bell and by its title. It is not safe for concurrent use.
type Notifier struct {
	Silent  bool // the user is not notified
	waiting bool // the terminal's title says that the session waits
	running bool
}

// Observe returns the sequences for an update. When the session begins to wait for the user, these are a bell and a
// title; afterwards the title is reset. The end of a long run has a bell.
func (c *Notifier) Observe(u engine.Update) string {
	if u.State == nil || c.Silent {
		return ""
	}
	text := ""
	if waits := u.State.Status == state.Running && len(u.State.UnansweredQuestions()) > 0; waits != c.waiting {
		c.waiting = waits
		text = calm
		if waits {
			text = saveTitle + title + "waiting: " + Clean(u.Session) + bell + bell
		}
	}
	runs := u.State.Status == state.Running
	if c.running && !runs && isWorthNotifying(u.State) {
		text += bell
	}
	c.running = runs
	return text
}

// These statuses of lists are not defined by package state.
const (
	StatusCrashed = "crashed" // running, but its process is gone
	StatusUnknown = "unknown" // not started, or state.json is unreadable
)

// StatusWord returns a session's status as lists show it and as --status accepts it.
func StatusWord(s state.Status, crashed bool) string {
	switch {
	case crashed:
		return StatusCrashed
	case s == "":
		return StatusUnknown
	default:
		return string(s)
	}
}

// isWorthNotifying reports whether a run was long, and the user did not pause it.
func isWorthNotifying(s *state.State) bool {
	if s.EndedAt == nil || s.Status == state.Paused && (s.PauseKind == state.PauseSignal || s.PauseKind == state.PauseUser) {
		return false
	}
	from := s.StartedAt
	if s.ResumedAt != nil {
		from = *s.ResumedAt
	}
	return s.EndedAt.Sub(from) >= longRun
}

// ResetTitle returns the sequence that restores the title.
func (c *Notifier) ResetTitle() string {
	if !c.waiting {
		return ""
	}
	c.waiting = false
	return calm
}
