package screen

import (
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// The control sequences that call a person.
const (
	saveTitle = "\x1b[22;0t"
	title     = "\x1b]0;" // up to a bell
	bell      = "\a"
	calm      = title + bell + "\x1b[23;0t" // no title, where none was saved
)

// longRun is how long a run takes whose end is worth a call: who started a shorter one still looks.
const longRun = 30 * time.Second

// Attention is how a person is called who looks elsewhere: by the terminal's bell, by its title, and by a notification of
// the desktop where the terminal is known to make one. The zero value uses bell and title.
type Attention struct {
	Off bool
	// Desktop is the number of the control sequence (OSC) by which the terminal makes a notification: 9 or 777, 0 for none.
	Desktop int
}

// AttentionFromEnvironment reads the environment: AGENT_PIPELINES_BELL=0 turns all of it off.
func AttentionFromEnvironment(getenv func(string) string) Attention {
	a := Attention{Off: getenv("AGENT_PIPELINES_BELL") == "0"}
	switch {
	case getenv("TMUX") != "" || getenv("STY") != "": // which pass on a bell, and no notification
	case getenv("TERM_PROGRAM") == "iTerm.app", getenv("TERM_PROGRAM") == "WezTerm", getenv("TERM_PROGRAM") == "ghostty":
		a.Desktop = 9
	case getenv("VTE_VERSION") != "", getenv("TERM") == "foot", getenv("TERM") == "rxvt-unicode-256color":
		a.Desktop = 777
	}
	return a
}

// notification is the sequence for a text, which is printable.
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

// Notifier calls for attention while a session is followed. It is used from one goroutine at a time.
type Notifier struct {
	Attention
	waiting bool // for a person, as the terminal's title says
	running bool
}

// Observe is what is to be written to the terminal for an update: it rings the bell when the session begins to wait for a
// person, and says so in the title while it does; and when a long run has ended.
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

// DescribeEnd says how a session that does not run any more stands.
func DescribeEnd(session string, s *state.State) string {
	if s.Status == state.Paused && len(s.UnansweredQuestions()) > 0 {
		return fmt.Sprintf("session '%s' waits for you", Clean(session))
	}
	return fmt.Sprintf("session '%s' %s", Clean(session), s.Status)
}

// isWorthNotifying reports whether somebody may have gone away in the meantime, and it was not a person who ended it.
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

// ResetTitle takes back the title.
func (c *Notifier) ResetTitle() string {
	if !c.waiting {
		return ""
	}
	c.waiting = false
	return calm
}
