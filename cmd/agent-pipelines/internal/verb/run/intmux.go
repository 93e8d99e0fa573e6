package run

import (
	"context"
	"encoding/json"
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
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// tmuxName is the name of a session's tmux session or window. Names of sessions have no character that
// tmux would take for something else.
func tmuxName(session string) string { return "pipeline-" + session }

// startingMark begins the mark of a pane whose kernel may not hold its session yet; the number of the
// process that starts it follows.
const startingMark = "starting-"

// inPane is a session's process in a tmux pane. It is used from one goroutine.
type inPane struct {
	client *tmux.Client
	pane   tmux.Pane
	name   string
	window bool   // in the tmux session that it was started from
	dir    string // of the handover
	kept   bool
}

// findTmux finds the tmux command, or says what to do without it.
func findTmux() (*tmux.Client, error) {
	client, err := tmux.Find()
	if errors.Is(err, tmux.ErrMissing) {
		return nil, cli.UsageError("tmux is required to run sessions in the background",
			"install tmux, or use --foreground (in this terminal) or --detach (without one)\n"+
				"`background: detach` in config.yaml makes that the default")
	}
	return client, err
}

// startInTmux starts the session in a tmux session of its own, or within tmux in a window.
func startInTmux(a *cli.App, ctx context.Context, e *engine.Engine, job errand, session string) (*inPane, error) {
	client, err := findTmux()
	if err != nil {
		return nil, err
	}
	cleaned, err := cleanTmux(a, ctx, client, e, session, job.force)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	dir, file, err := handOver(job.command(session, cleaned...))
	if err != nil {
		return nil, err
	}
	h := &inPane{client: client, name: tmuxName(session), window: a.Getenv("TMUX") != "", dir: dir}
	h.pane, err = client.Start(ctx, tmux.Start{
		Name: h.name, Window: h.window, Dir: e.WorkDir(), Args: []string{self, "tmux-start", file},
		Mark: startingMark + strconv.Itoa(os.Getpid()),
	})
	if err != nil {
		err = errors.Join(startRefused(session, err), os.RemoveAll(dir))
		return nil, err
	}
	return h, nil
}

// startRefused explains why tmux did not start a session.
func startRefused(session string, err error) error {
	if tmux.Duplicate(err) { // since a moment ago
		return beingStarted(session, 0)
	}
	return failure.New(failure.Internal, "%w", err).
		WithHint("--foreground runs the session in this terminal, --detach without one")
}

func (h *inPane) pid() int { return h.pane.PID }

func (h *inPane) ended(ctx context.Context) (code int, over bool, err error) {
	there := syscall.Kill(h.pane.PID, 0) == nil // looked at first: tmux knows the status of those it has reaped
	p, ok, err := h.client.Look(ctx, h.pane.ID)
	switch {
	case err != nil:
		return 0, false, err
	case !ok && h.kept: // it went as panes do; what it left in the journal tells the rest
		return 0, false, nil
	case !ok:
		return 0, false, fmt.Errorf("tmux %s was ended from elsewhere before its session began", h.name)
	case p.Dead && p.Status == tmux.Unknown && !there: // a signal, of which this tmux does not tell
		return killedBySignal, true, nil
	default:
		return p.Status, p.Dead && p.Status != tmux.Unknown, nil
	}
}

// killedBySignal is the exit code of a process that some signal ended, as shells begin to count them.
const killedBySignal = 128

func (h *inPane) printed(ctx context.Context) (string, error) { return h.client.Text(ctx, h.pane) }

func (h *inPane) keep(ctx context.Context) error {
	h.kept = true
	return h.client.Release(ctx, h.pane)
}

// close also ends a pane whose program has ended while tmux was told to keep it.
func (h *inPane) close(ctx context.Context) error {
	err := os.RemoveAll(h.dir)
	p, ok, lookErr := h.client.Look(ctx, h.pane.ID)
	if lookErr == nil && ok && p.Dead {
		lookErr = h.client.Kill(ctx, p)
	}
	return errors.Join(err, lookErr)
}

func (h *inPane) place() document.Host {
	p := document.Host{Background: engine.BackgroundTmux, PID: h.pid(), TmuxSession: h.pane.Session}
	if h.window {
		p.TmuxWindow = h.name
	}
	return p
}

// hints are the Bash engine's five lines.
func (h *inPane) hints(session string) []string {
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

// panesOf are the panes of a session, in a tmux session or a window of its name.
func panesOf(ctx context.Context, client *tmux.Client, session string) ([]tmux.Pane, error) {
	all, err := client.Panes(ctx)
	var named []tmux.Pane
	for _, p := range all {
		if p.Named(tmuxName(session)) {
			named = append(named, p)
		}
	}
	return named, err
}

// cleanTmux ends what lies where the session is to run and has no kernel any more, or one whose session is
// taken by force. The result is what tells the new kernel of it: flags.
func cleanTmux(a *cli.App, ctx context.Context, client *tmux.Client, e *engine.Engine, session string, force bool) ([]string, error) {
	panes, err := panesOf(ctx, client, session)
	if err != nil || len(panes) == 0 {
		return nil, err
	}
	for _, p := range panes {
		if pid, starting := starter(p); starting && !force {
			return nil, beingStarted(session, pid)
		}
	}
	// The lock is looked at after the panes: of a kernel that has just begun, one of the two is seen.
	held, pid, err := kernelOf(ctx, e, session)
	switch {
	case err != nil:
		return nil, err
	case held && !force:
		return nil, inTmux(locked(session, pid), session, panes[0])
	case held:
		fmt.Fprintf(a.Stderr, "Ending tmux session '%s' (PID %d), whose session is taken over\n", tmuxName(session), pid)
	case pid > 0:
		fmt.Fprintf(a.Stderr, "Cleaning up stale tmux session '%s' (PID %d not running)\n", tmuxName(session), pid)
	default:
		fmt.Fprintf(a.Stderr, "Cleaning up stale tmux session '%s' (no session runs in it)\n", tmuxName(session))
	}
	for _, p := range panes {
		if err := client.Kill(ctx, p); err != nil {
			return nil, err
		}
	}
	return []string{"--tmux-cleaned=" + strconv.Itoa(pid)}, nil
}

// starter is the process that starts a pane's session at this moment, if one does.
func starter(p tmux.Pane) (pid int, starting bool) {
	number, marked := strings.CutPrefix(p.Mark, startingMark)
	pid, err := strconv.Atoi(number)
	return pid, marked && err == nil && !p.Dead && syscall.Kill(pid, 0) == nil
}

// kernelOf is the process that holds a session, or held it last, 0 if nobody did.
func kernelOf(ctx context.Context, e *engine.Engine, session string) (held bool, pid int, err error) {
	status, err := e.Status(session)
	switch {
	case errors.Is(err, engine.ErrNoSession):
		return false, 0, nil
	case err != nil || status.Held:
		return err == nil, statusPID(status), err
	}
	err = e.Tail(ctx, session, -1, false, func(ev event.Event) error {
		var d event.KernelStartData
		if ev.Type == event.KernelStart && json.Unmarshal(ev.Data, &d) == nil {
			pid = d.PID
		}
		return nil
	})
	return false, pid, err
}

func statusPID(s *engine.Status) int {
	if s == nil {
		return 0
	}
	return s.PID
}

func locked(session string, pid int) *failure.Error {
	e := failure.New(failure.LockContention, "session '%s' is already running (PID %d)", session, pid)
	e.Cause = engine.ErrLocked
	return e
}

func beingStarted(session string, pid int) error {
	who := "another command"
	if pid > 0 {
		who = fmt.Sprintf("process %d", pid)
	}
	e := failure.New(failure.LockContention, "session '%s' is being started by %s", session, who)
	e.Cause = engine.ErrLocked
	return e.WithHint("%s attach %s shows it", cli.Program, session)
}

// inTmux adds to the refusal of a session that runs how to get at its pane.
func inTmux(e *failure.Error, session string, p tmux.Pane) error {
	show, end := "tmux attach -t "+p.Session, "tmux kill-session -t "+p.Session
	if p.Session != tmuxName(session) {
		show, end = "tmux select-window -t "+p.WindowID, "tmux kill-window -t "+p.WindowID
	}
	return e.WithHint("tmux session '%s' exists; show it: %s\nend it: %s abort %s, or %s\n--force takes the session over",
		tmuxName(session), show, cli.Program, session, end)
}

// whereItRuns adds to a refusal, where it is that the session runs in tmux already, how to get there.
func whereItRuns(ctx context.Context, err error, job errand) error {
	var f *failure.Error
	if job.at != engine.BackgroundTmux || !errors.Is(err, engine.ErrLocked) || !errors.As(err, &f) || job.session == "" {
		return err
	}
	client, missing := tmux.Find()
	if missing != nil {
		return err
	}
	panes, _ := panesOf(ctx, client, job.session) // what cannot be asked is no reason to say less
	if len(panes) == 0 {
		return err
	}
	return inTmux(f, job.session, panes[0])
}
