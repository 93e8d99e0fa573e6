package tmux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// ErrMissing means that there is no tmux command.
var ErrMissing = errors.New("tmux is not installed")

// Client runs the tmux command. It is safe for concurrent use.
type Client struct {
	path string
}

// Find looks for the tmux command on PATH. The error is [ErrMissing].
func Find() (*Client, error) {
	path, err := exec.LookPath("tmux")
	if err != nil {
		return nil, ErrMissing
	}
	return &Client{path: path}, nil
}

// Start describes a program to be run in a new, detached tmux session, or in a new window of the current
// session.
type Start struct {
	Name   string // of the session or window: letters, digits, "_" and "-"
	Window bool   // in the tmux session that this process runs in
	Dir    string // absolute
	// Args are the program and its arguments. No shell sees them.
	Args []string
	// Mark is stored with the pane until [Client.Release], for other processes that list the panes: one word.
	Mark string
}

// Start starts a program. The pane stays when the program ends, so that its end can be read, until [Client.Release].
// The caller releases or kills it.
func (c *Client) Start(ctx context.Context, s Start) (Pane, error) {
	args := []string{"new-session", "-d", "-s", s.Name}
	target := "=" + s.Name + ":"
	if s.Window {
		args = []string{"new-window", "-d", "-n", s.Name}
		target = ":=" + s.Name // of the current session
	}
	// One command line: tmux does nothing else between the parts, not even notice that a program ended.
	args = slices.Concat(args, []string{"-c", s.Dir, "-P", "-F", format}, s.Args, []string{
		";", "set-option", "-w", "-t", target, "remain-on-exit", "on",
		";", "set-option", "-w", "-t", target, markOption, s.Mark,
	})
	out, err := c.begin(ctx, s.Window, args)
	if err != nil {
		return Pane{}, fmt.Errorf("start %s in tmux: %w", s.Name, err)
	}
	panes, err := parse(out)
	if err != nil || len(panes) != 1 {
		return Pane{}, fmt.Errorf("start %s in tmux: it answered %q: %w", s.Name, out, err)
	}
	return panes[0], nil
}

// begin runs a command that starts a server if there is none. A server whose last session has just
// ended refuses the command and is gone a moment later.
func (c *Client) begin(ctx context.Context, window bool, args []string) (string, error) {
	const tries, pause = 20, 50 * time.Millisecond
	for i := 1; ; i++ {
		out, err := c.run(ctx, args...)
		var refused *Error
		if err == nil || window || i == tries || !errors.As(err, &refused) || !refused.noServer() {
			return out, err
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(pause):
		}
	}
}

// Release makes a pane close when its program ends, as panes usually do, and removes its mark.
func (c *Client) Release(ctx context.Context, p Pane) error {
	_, err := c.run(ctx, "set-option", "-w", "-t", p.WindowID, "-u", "remain-on-exit",
		";", "set-option", "-w", "-t", p.WindowID, "-u", markOption)
	if err != nil {
		return fmt.Errorf("release tmux pane %s: %w", p.ID, err)
	}
	return nil
}

// Panes returns all panes of the server, none if no server runs.
func (c *Client) Panes(ctx context.Context) ([]Pane, error) {
	out, err := c.run(ctx, "list-panes", "-a", "-F", format)
	var refused *Error
	if errors.As(err, &refused) && refused.noServer() {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the panes of tmux: %w", err)
	}
	return parse(out)
}

// FindPane returns the current description of a pane; ok is false if the pane is gone.
//
// A server does not always notice that a child has ended, and then the status of the dead pane stays
// [Unknown]. With tmux 3.3a this happens about one time in three if the pane is listed at that moment.
// Whenever a child ends, the server queries the status of all its children, so FindPane starts a short-lived child.
func (c *Client) FindPane(ctx context.Context, id string) (p Pane, ok bool, err error) {
	panes, err := c.Panes(ctx)
	i := slices.IndexFunc(panes, func(p Pane) bool { return p.ID == id })
	if i < 0 {
		return Pane{}, false, err
	}
	p = panes[i]
	if p.Dead && p.Status == Unknown {
		_, _ = c.run(ctx, "run-shell", "-b", "true") // the next query reports a server that has ended
	}
	return p, true, err
}

// Kill ends a pane's window and the programs in it; they get SIGHUP. A pane that is gone is not an
// error.
func (c *Client) Kill(ctx context.Context, p Pane) error {
	_, err := c.run(ctx, "kill-window", "-t", p.WindowID)
	var refused *Error
	if errors.As(err, &refused) && (refused.noServer() || strings.Contains(refused.Text, "can't find")) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("end tmux window %s: %w", p.WindowID, err)
	}
	return nil
}

// Text returns the text of a pane with its history, as far as tmux remembers.
func (c *Client) Text(ctx context.Context, p Pane) (string, error) {
	out, err := c.run(ctx, "capture-pane", "-p", "-J", "-S", "-", "-t", p.ID)
	if err != nil {
		return "", fmt.Errorf("read tmux pane %s: %w", p.ID, err)
	}
	out = strings.TrimRight(out, "\n ")
	if rest, last := cutLastLine(out); strings.HasPrefix(last, "Pane is dead") { // a line of tmux itself
		out = strings.TrimRight(rest, "\n ")
	}
	return out, nil
}

func cutLastLine(text string) (rest, last string) {
	i := strings.LastIndexByte(text, '\n')
	return text[:max(i, 0)], text[i+1:]
}

// Attach returns the command that shows a pane on the terminal of the user who runs it. inside means that
// the terminal is a client of the same server.
func (c *Client) Attach(p Pane, inside bool) *exec.Cmd {
	verb := "attach-session"
	if inside {
		verb = "switch-client"
	}
	return exec.Command(c.path, "select-window", "-t", p.WindowID, ";", verb, "-t", "="+p.Session+":")
}

// Error is a refusal of the tmux command.
type Error struct {
	Text string // its output on standard error
	Err  error
}

func (e *Error) Error() string {
	if e.Text == "" {
		return e.Err.Error()
	}
	return e.Text
}

// Unwrap returns the error with which the command ended.
func (e *Error) Unwrap() error { return e.Err }

// noServer reports whether the socket has no server, or a server that is ending without sessions. The texts are
// those of tmux since 1.8.
func (e *Error) noServer() bool {
	texts := []string{"no server running", "error connecting to", "no current target", "no sessions", "server exited", "lost server"}
	return slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(e.Text, text) })
}

// Duplicate reports whether an error of [Client.Start] means that the session exists.
func Duplicate(err error) bool {
	var refused *Error
	return errors.As(err, &refused) && strings.HasPrefix(refused.Text, "duplicate session")
}

func (c *Client) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.path, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", &Error{Text: strings.TrimSpace(stderr.String()), Err: err}
	}
	return stdout.String(), nil
}
