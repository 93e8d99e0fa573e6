package watching

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/screen"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/tree"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// Engine is the part of the engine that this package uses.
type Engine interface {
	Follow(ctx context.Context, session string, lines int, observe func(engine.Update) error) error
	Tail(ctx context.Context, session string, lines int, follow bool, yield func(event.Event) error) error
	Status(session string) (*engine.Status, error)
	PauseSession(ctx context.Context, session, reason, by string) error
	Answer(ctx context.Context, o engine.AnswerOptions) error
}

// maxLines is the number of lines that are kept of a position; at twice this number, older lines are dropped.
const maxLines = 500

// feed follows a session and keeps the lines about it. It is safe for concurrent use.
type feed struct {
	engine  Engine
	session string
	first   chan struct{} // closed with the first event, or if there is none
	began   sync.Once

	mu       sync.Mutex // guards:
	model    tree.Model
	renderer screen.Renderer
	lines    map[tree.Position][]string
	output   map[tree.Position]string // path of the latest output, relative to the session's directory
	last     int64                    // number of the last event
	status   *engine.Status           // set while no kernel holds the session, else nil
	dir      string                   // of the session, absolute; "" before the first event
	attention
	err error
}

// attention notifies the user of events after its start.
type attention struct {
	notifier  screen.Notifier
	sequences string // control sequences to write to the terminal
	started   time.Time
}

func newFeed(eng Engine, session string, silent bool, now time.Time) *feed {
	return &feed{
		engine: eng, session: session, first: make(chan struct{}), renderer: screen.Renderer{Verbose: true},
		lines: map[tree.Position][]string{}, output: map[tree.Position]string{}, attention: attention{notifier: screen.Notifier{Silent: silent}, started: now},
	}
}

// run follows the session until ctx ends, also while no kernel holds it. An error stops the feed.
func (f *feed) run(ctx context.Context) {
	defer f.began.Do(func() { close(f.first) })
	if err := f.follow(ctx); err != nil && ctx.Err() == nil {
		f.mu.Lock()
		f.err = err
		f.mu.Unlock()
	}
}

func (f *feed) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := f.engine.Follow(ctx, f.session, -1, f.observe); err != nil {
			return err
		}
		s, err := f.engine.Status(f.session)
		if err != nil {
			return err
		}
		f.setStatus(s)
		f.began.Do(func() { close(f.first) })
		if !s.Locked {
			err = f.engine.Tail(ctx, f.session, -1, true, func(e event.Event) error {
				if e.Seq <= f.last {
					return nil
				}
				return errNewEvent
			})
			if err != nil && !errors.Is(err, errNewEvent) {
				return err
			}
		}
	}
	return nil
}

// errNewEvent ends the wait for an event in a session that no kernel holds.
var errNewEvent = errors.New("a kernel works on the session again")

// setStatus stores the status of a session that no kernel holds.
func (f *feed) setStatus(s *engine.Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dir = s.Dir
	if s.Locked {
		return
	}
	f.status = s
	if s.Crashed {
		f.model.Crash()
	}
}

// observe adds an update, unless it was observed before.
func (f *feed) observe(u engine.Update) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if u.Event.Seq <= f.last {
		return nil
	}
	f.last, f.status, f.dir = u.Event.Seq, nil, u.Dir
	f.model.Observe(u)
	f.addLines(u)
	if u.Event.Time.After(f.started) {
		f.sequences += f.notifier.Observe(u)
	}
	f.began.Do(func() { close(f.first) })
	return nil
}

// addLines adds the lines about an event: to its node, to the nodes that embed it, and to its provider or step.
func (f *feed) addLines(u engine.Update) {
	e := *u.Event
	at := []tree.Position{{}}
	if c := e.Cursor; c != nil {
		at = at[:0]
		if c.Provider != "" || c.Step != "" {
			at = append(at, tree.Position{Path: c.NodePath, Branch: c.Provider, Step: c.Step})
		}
		for path := c.NodePath; path != ""; path = path[:max(strings.LastIndexByte(path, '.'), 0)] {
			at = append(at, tree.Position{Path: path})
		}
	}
	clock := e.Time.Local().Format("15:04:05 ")
	for _, line := range f.renderer.Lines(u) {
		if !isShown(line) {
			continue
		}
		for _, s := range at {
			f.addLine(s, clock+strings.TrimLeft(line, " "))
		}
	}
	if e.Type == event.IterationComplete || e.Type == event.AttemptComplete {
		if d, err := event.Decode[event.AttemptCompleteData](e); err == nil && d.Output != nil { // both types have Output
			for _, s := range at {
				f.output[s] = d.Output.Path
			}
		}
	}
}

// isShown reports whether a line is shown here; frames and details for troubleshooting are not.
func isShown(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && !strings.ContainsAny(line[:min(len(line), 3)], "┌│└╔║╚╠") && !strings.HasPrefix(line, "·")
}

// addLine adds a line to a position, and drops the oldest lines if there are too many.
func (f *feed) addLine(at tree.Position, line string) {
	f.lines[at] = append(f.lines[at], line)
	if all := f.lines[at]; len(all) > 2*maxLines {
		f.lines[at] = slices.Clone(all[len(all)-maxLines:])
	}
}

// hint returns the session's status, and the next action.
func (f *feed) hint() string {
	st := f.model.State()
	switch s := f.status; {
	case st == nil:
		return "This session never began. q leaves."
	case f.model.Waits():
		return "It waits for you: a approves, r rejects." + resumeHint(s)
	case s == nil:
		return ""
	case s.Crashed:
		return "Its process is gone; the work that was finished is kept." + resumeHint(s)
	case st.Status == state.Paused:
		return "It is paused." + resumeHint(s)
	case st.Status == state.Failed:
		return "It has failed." + resumeHint(s)
	default:
		return "It has ended: " + string(st.Status) + ". q leaves."
	}
}

// resumeHint returns the command that resumes the session, "" if a kernel holds it or it cannot be resumed.
func resumeHint(s *engine.Status) string {
	switch {
	case s == nil:
		return ""
	case s.VerifyCommand != "":
		return " Its journal was changed: " + s.VerifyCommand
	case s.RepairCommand != "":
		return " To repair it: " + s.RepairCommand
	case s.ResumeCommand != "":
		return " Continue: " + s.ResumeCommand
	default:
		return ""
	}
}

// failed returns the error that ended the feed, nil while it follows.
func (f *feed) failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// nextSequences returns the control sequences that are not written yet.
func (f *feed) nextSequences() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.sequences
	f.sequences = ""
	return calls
}

// resetTitle restores the terminal's title.
func (f *feed) resetTitle(to io.Writer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	io.WriteString(to, f.notifier.ResetTitle()) //nolint:errcheck // a closed terminal needs no output
}

// maxOutput bounds the shown end of an output, in bytes.
const maxOutput = 64 << 10

// outputFile returns the absolute path of the latest output of a row, "" if there is none.
func (f *feed) outputFile(r tree.Row) string {
	path := f.output[r.Position]
	if path == "" || f.dir == "" {
		return ""
	}
	return filepath.Join(f.dir, filepath.FromSlash(path))
}

// tail returns the last lines of a file, made printable.
func tail(name string) []string {
	file, err := os.Open(name)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return []string{screen.Clean(err.Error())}
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	text := make([]byte, min(info.Size(), maxOutput))
	n, err := file.ReadAt(text, info.Size()-int64(len(text)))
	if n == 0 && err != nil {
		return []string{screen.Clean(fmt.Sprint(err))}
	}
	return screen.Lines(strings.ToValidUTF8(string(text[:n]), " "))
}
