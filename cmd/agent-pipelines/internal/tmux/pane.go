package tmux

import (
	"fmt"
	"strconv"
	"strings"
)

// markOption is the user option (tmux(1), OPTIONS) that holds a pane's mark.
const markOption = "@agent_pipelines"

// format makes tmux describe a pane. The window's name, which may hold anything, is last; a session's
// name has no colon.
const format = "#{pane_id}:#{window_id}:#{pane_pid}:#{pane_dead}:#{pane_dead_status}:#{pane_dead_signal}:#{" + markOption + "}:#{session_name}:#{window_name}"

// Pane is a pane of a tmux server.
type Pane struct {
	ID       string // "%3"
	WindowID string // "@2"
	Session  string // the session's name
	Window   string // the window's name
	PID      int    // of the program that was started in it
	Dead     bool   // the program has ended, and the pane stays
	Status   int    // the exit code of the ended program, 128 more than the signal that ended it, or [Unknown]
	Mark     string // see Start
}

// Named reports whether the pane's session or window has the name.
func (p Pane) Named(name string) bool { return p.Session == name || p.Window == name }

// parse returns the panes from an output of tmux in format.
func parse(out string) ([]Pane, error) {
	var panes []Pane
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		if line == "" {
			continue
		}
		p, err := parsePane(line)
		if err != nil {
			return nil, err
		}
		panes = append(panes, p)
	}
	return panes, nil
}

func parsePane(line string) (Pane, error) {
	f := strings.SplitN(line, ":", 9)
	if len(f) != 9 || !strings.HasPrefix(f[0], "%") || !strings.HasPrefix(f[1], "@") {
		return Pane{}, fmt.Errorf("tmux describes a pane as %q", line)
	}
	p := Pane{ID: f[0], WindowID: f[1], Dead: f[3] == "1", Mark: f[6], Session: f[7], Window: f[8]}
	var err error
	if p.PID, err = strconv.Atoi(f[2]); err != nil {
		return Pane{}, fmt.Errorf("tmux describes a pane as %q: no process", line)
	}
	if p.Dead {
		p.Status = status(f[4], f[5])
	}
	return p, nil
}

// Unknown is the status of a dead pane while tmux has not yet read its program's exit status. Before
// version 3.3 it is also the status of a pane whose program a signal ended.
const Unknown = -1

func status(code, signal string) int {
	if n, err := strconv.Atoi(code); err == nil {
		return n
	}
	if n, err := strconv.Atoi(signal); err == nil && n > 0 {
		return 128 + n
	}
	return Unknown
}
