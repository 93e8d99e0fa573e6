package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/tmux"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// tmuxName returns the name of a session's tmux session or window. Session names contain no character that is special to
// tmux.
func tmuxName(session string) string { return "pipeline-" + session }

// startingMark is the prefix of a pane's mark until it is certain that its process holds the session. The process id of
// the starter follows.
const startingMark = "starting-"

// tmuxHost is a session's process in a tmux pane. It is not safe for concurrent use.
type tmuxHost struct {
	client *tmux.Client
	pane   tmux.Pane
	name   string
	window bool   // a window of the user's tmux session, instead of a tmux session
	dir    string // the directory of the file with childArgs
	isKept bool   // keepRunning was called
}

// findTmux returns a tmux client, or an error with a hint if tmux is not installed.
func findTmux() (*tmux.Client, error) {
	client, err := tmux.Find()
	if errors.Is(err, tmux.ErrMissing) {
		return nil, cli.UsageError("tmux is required to run sessions in the background",
			"install tmux, or use --foreground (in this terminal) or --detach (without one)\n"+
				"`background: detach` in config.yaml makes that the default")
	}
	return client, err
}

// tmuxStart is the start of a session in tmux.
type tmuxStart struct {
	app     *cli.App
	engine  *engine.Engine
	session string
}

// start starts the session in a new tmux session, or inside tmux in a new window.
func (t tmuxStart) start(ctx context.Context, r startRequest) (*tmuxHost, error) {
	client, err := findTmux()
	if err != nil {
		return nil, err
	}
	notes, err := t.clean(ctx, client, r.force())
	if err != nil {
		return nil, err
	}
	r.addNotes(notes...)
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the path of this program: %w", err)
	}
	dir, file, err := newChildArgs(t.app.GlobalFlags, r).write()
	if err != nil {
		return nil, err
	}
	h := &tmuxHost{client: client, name: tmuxName(t.session), window: t.app.Getenv("TMUX") != "", dir: dir}
	h.pane, err = client.Start(ctx, tmux.Start{
		Name: h.name, Window: h.window, Dir: t.engine.WorkDir(), Args: []string{self, "tmux-start", file},
		Mark: startingMark + strconv.Itoa(os.Getpid()),
	})
	if err != nil {
		err = errors.Join(startError(t.session, err), os.RemoveAll(dir))
		return nil, err
	}
	return h, nil
}

// startError explains why tmux did not start a session.
func startError(session string, err error) error {
	if tmux.Duplicate(err) { // started after clean
		return startingError(session, 0)
	}
	return failure.New(failure.Internal, "%w", err).
		WithHint("--foreground runs the session in this terminal, --detach without one")
}

func (h *tmuxHost) pid() int { return h.pane.PID }

func (h *tmuxHost) poll(ctx context.Context) (code int, over bool, err error) {
	alive := syscall.Kill(h.pane.PID, 0) == nil // before FindPane: tmux knows the status only of reaped processes
	p, ok, err := h.client.FindPane(ctx, h.pane.ID)
	switch {
	case err != nil:
		return 0, false, err
	case !ok && h.isKept: // the pane closed with its process; the journal has the result
		return 0, false, nil
	case !ok:
		return 0, false, fmt.Errorf("tmux %s was ended from elsewhere before its session began", h.name)
	case p.Dead && p.Status == tmux.Unknown && !alive: // a signal, which this version of tmux does not report
		return killedBySignal, true, nil
	default:
		return p.Status, p.Dead && p.Status != tmux.Unknown, nil
	}
}

// killedBySignal is the exit code for an unknown signal: shells add the signal's number to 128.
const killedBySignal = 128

func (h *tmuxHost) output(ctx context.Context) (string, error) { return h.client.Text(ctx, h.pane) }

func (h *tmuxHost) keepRunning(ctx context.Context) error {
	h.isKept = true
	return h.client.Release(ctx, h.pane)
}

// close also kills a dead pane that tmux keeps (remain-on-exit).
func (h *tmuxHost) close(ctx context.Context) error {
	err := os.RemoveAll(h.dir)
	p, ok, findErr := h.client.FindPane(ctx, h.pane.ID)
	if findErr == nil && ok && p.Dead {
		findErr = h.client.Kill(ctx, p)
	}
	return errors.Join(err, findErr)
}

func (h *tmuxHost) describe() document.Host {
	p := document.Host{Background: authoring.BackgroundTmux, PID: h.pid(), TmuxSession: h.pane.Session}
	if h.window {
		p.TmuxWindow = h.name
	}
	return p
}

// hints returns the five lines of the Bash engine.
func (h *tmuxHost) hints(session string) []string {
	head, attach, kill := "Session started in tmux: "+h.name, "tmux attach -t "+h.name, "tmux kill-session -t "+h.name
	if h.window {
		head = "Session started in tmux window: " + h.name
		attach, kill = "tmux select-window -t "+h.name, "tmux kill-window -t "+h.name
	}
	return []string{
		head,
		fmt.Sprintf("  Monitor: %s tail %s", cli.Program, session),
		"  Attach:  " + attach,
		fmt.Sprintf("  Status:  %s status %s", cli.Program, session),
		"  Kill:    " + kill,
	}
}

// sessionPanes returns the panes of a session, in a tmux session or a window of its name.
func sessionPanes(ctx context.Context, client *tmux.Client, session string) ([]tmux.Pane, error) {
	all, err := client.Panes(ctx)
	var named []tmux.Pane
	for _, p := range all {
		if p.Named(tmuxName(session)) {
			named = append(named, p)
		}
	}
	return named, err
}

// clean kills the session's old panes if no process owns the session, or if force fences its owner. It returns
// the events about this for the session's journal.
func (t tmuxStart) clean(ctx context.Context, client *tmux.Client, force bool) ([]event.Event, error) {
	session, to := t.session, t.app.Stderr
	panes, err := sessionPanes(ctx, client, session)
	if err != nil || len(panes) == 0 {
		return nil, err
	}
	for _, p := range panes {
		if pid, starting := startingProcess(p); starting && !force {
			return nil, startingError(session, pid)
		}
	}
	// Read the lock after the panes: a process that just started shows in one of the two.
	held, pid, err := lastProcess(ctx, t.engine, session)
	switch {
	case err != nil:
		return nil, err
	case held && !force:
		return nil, withPaneHint(lockedError(session, pid), session, panes[0])
	case held:
		fmt.Fprintf(to, "Ending tmux session '%s' (PID %d), whose session is resumed here\n", tmuxName(session), pid)
	case pid > 0:
		fmt.Fprintf(to, "Cleaning up stale tmux session '%s' (PID %d not running)\n", tmuxName(session), pid)
	default:
		fmt.Fprintf(to, "Cleaning up stale tmux session '%s' (no session runs in it)\n", tmuxName(session))
	}
	for _, p := range panes {
		if err := client.Kill(ctx, p); err != nil {
			return nil, err
		}
	}
	return []event.Event{event.New(event.TmuxSessionCleaned, nil, "", struct {
		PID int `json:"pid,omitempty"` // of the old process, 0 if unknown
	}{pid})}, nil
}

// startingProcess returns the process that is starting a pane's session, if there is one.
func startingProcess(p tmux.Pane) (pid int, starting bool) {
	number, marked := strings.CutPrefix(p.Mark, startingMark)
	pid, err := strconv.Atoi(number)
	return pid, marked && err == nil && !p.Dead && syscall.Kill(pid, 0) == nil
}

// kernelStarts returns the processes that have locked a session, in order; none for a session that does not exist yet.
func kernelStarts(ctx context.Context, e *engine.Engine, session string) (pids []int, err error) {
	err = e.Tail(ctx, session, -1, false, func(ev event.Event) error {
		if ev.Type != event.KernelStart {
			return nil
		}
		d, err := event.Decode[event.KernelStartData](ev)
		pids = append(pids, d.PID)
		return err
	})
	if errors.Is(err, engine.ErrNoSession) {
		return nil, nil
	}
	return pids, err
}

// lastProcess returns the process that holds a session or held it last, 0 for none.
func lastProcess(ctx context.Context, e *engine.Engine, session string) (held bool, pid int, err error) {
	status, err := e.Status(session)
	switch {
	case errors.Is(err, engine.ErrNoSession):
		return false, 0, nil
	case err != nil:
		return false, 0, err
	case status.Locked:
		return true, status.PID, nil
	}
	pids, err := kernelStarts(ctx, e, session)
	if len(pids) > 0 {
		pid = pids[len(pids)-1]
	}
	return false, pid, err
}

func lockedError(session string, pid int) *failure.Error {
	e := failure.New(failure.LockContention, "session '%s' is already running (PID %d)", session, pid)
	e.Cause = engine.ErrLocked
	return e
}

func startingError(session string, pid int) error {
	by := "another command"
	if pid > 0 {
		by = fmt.Sprintf("process %d", pid)
	}
	e := failure.New(failure.LockContention, "session '%s' is being started by %s", session, by)
	e.Cause = engine.ErrLocked
	return e.WithHint("%s attach %s shows it", cli.Program, session)
}

// withPaneHint adds a hint on the pane of a running session to an error.
func withPaneHint(e *failure.Error, session string, p tmux.Pane) error {
	show, end := "tmux attach -t "+p.Session, "tmux kill-session -t "+p.Session
	if p.Session != tmuxName(session) {
		show, end = "tmux select-window -t "+p.WindowID, "tmux kill-window -t "+p.WindowID
	}
	return e.WithHint("tmux session '%s' exists; show it: %s\nend it: %s abort %s, or %s\n--force overrides the session's lock",
		tmuxName(session), show, cli.Program, session, end)
}

// addPaneHint adds a hint on the session's pane to an error if the session runs in tmux already.
func addPaneHint(ctx context.Context, err error, at authoring.Background, session string) error {
	var f *failure.Error
	if at != authoring.BackgroundTmux || !errors.Is(err, engine.ErrLocked) || !errors.As(err, &f) || session == "" {
		return err
	}
	client, missing := tmux.Find()
	if missing != nil {
		return err
	}
	panes, _ := sessionPanes(ctx, client, session) // without the panes the hint is missing
	if len(panes) == 0 {
		return err
	}
	return withPaneHint(f, session, panes[0])
}
