package screen

import (
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// The control sequences that notify the user.
const (
	saveTitle = "\x1b[22;0t"
	title     = "\x1b]0;" // ends with a bell
	bell      = "\a"
	calm      = title + bell + "\x1b[23;0t" // an empty title, for terminals that did not save one
)

// longRun is the duration from which the end of a run is notified.
const longRun = 30 * time.Second

// Attention says how to notify the user: by the terminal's bell, by its title, and by a notification of the desktop if the
// terminal is known to support it. The zero value uses bell and title.
type Attention struct {
	Off bool
	// Desktop is the number of the terminal's control sequence (OSC) for notifications: 9 or 777, 0 for none.
	Desktop int
}

// AttentionFromEnvironment reads the environment: AGENT_PIPELINES_BELL=0 turns all of it off.
func AttentionFromEnvironment(getenv func(string) string) Attention {
	a := Attention{Off: getenv("AGENT_PIPELINES_BELL") == "0"}
	switch {
	case getenv("TMUX") != "" || getenv("STY") != "": // they forward a bell, but no notification
	case getenv("TERM_PROGRAM") == "iTerm.app", getenv("TERM_PROGRAM") == "WezTerm", getenv("TERM_PROGRAM") == "ghostty":
		a.Desktop = 9
	case getenv("VTE_VERSION") != "", getenv("TERM") == "foot", getenv("TERM") == "rxvt-unicode-256color":
		a.Desktop = 777
	}
	return a
}

// notification returns the sequence for a printable text.
func (a Attention) notification(text string) string {
	switch a.Desktop {
	case 9:
		return "\x1b]9;" + text + bell
	case 777:
		return "\x1b]777;notify;agent-pipelines;" + text + bell
	default:
		return ""
	}
}

// Notifier notifies the user about a session. It is not safe for concurrent use.
type Notifier struct {
	Attention
	waiting bool // the terminal's title says that the session waits
	running bool
}

// Observe returns the sequences for an update: a bell and a title when the session begins to wait for the user, the end of
// the title afterwards, and a bell at the end of a long run.
func (c *Notifier) Observe(u engine.Update) string {
	if u.State == nil || c.Off {
		return ""
	}
	text := ""
	if waits := u.State.Status == state.Running && len(u.State.UnansweredQuestions()) > 0; waits != c.waiting {
		c.waiting = waits
		text = calm
		if waits {
			text = saveTitle + title + "waiting: " + Clean(u.Session) + bell + bell +
				c.notification(fmt.Sprintf("session '%s' waits for you", Clean(u.Session)))
		}
	}
	runs := u.State.Status == state.Running
	if c.running && !runs && isWorthNotifying(u.State) {
		text += bell + c.notification(DescribeEnd(u.Session, u.State))
	}
	c.running = runs
	return text
}

// The statuses of lists that package state does not define.
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

// DescribeEnd describes the status of a session that no longer runs.
func DescribeEnd(session string, s *state.State) string {
	if s.Status == state.Paused && len(s.UnansweredQuestions()) > 0 {
		return fmt.Sprintf("session '%s' waits for you", Clean(session))
	}
	return fmt.Sprintf("session '%s' %s", Clean(session), s.Status)
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
