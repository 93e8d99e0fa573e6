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
)

// Engine is the part of the engine that this package uses.
type Engine interface {
	Follow(ctx context.Context, session string, lines int, observe func(engine.Update) error) error
	Status(session string) (*engine.Status, error)
	PauseSession(ctx context.Context, session, reason, by string) error
	Answer(ctx context.Context, o engine.AnswerOptions) error
}

// maxLines bounds the lines that are kept of a position.
const maxLines = 500

// pollEvery is the interval at which a session that no kernel holds is checked.
const pollEvery = time.Second

// position is the subject of lines: the session, a node, or one of its providers or steps.
type position struct{ path, branch, step string }

// feed follows a session and keeps the lines about it. It is safe for concurrent use.
type feed struct {
	engine  Engine
	session string
	first   chan struct{} // closed with the first event, or if there is none
	began   sync.Once

	mu        sync.Mutex // guards:
	model     tree.Model
	renderer  screen.Renderer
	lines     map[position][]string
	output    map[position]string // path of the latest one, in the session's directory
	last      int64               // number of the last event
	status    *engine.Status      // set while no kernel holds the session, else nil
	dir       string              // of the session, absolute; "" before the first event
	notifier  screen.Notifier
	sequences string // control sequences to write to the terminal
	started   time.Time
	err       error
}

func newFeed(eng Engine, session string, how screen.Attention, now time.Time) *feed {
	return &feed{
		engine: eng, session: session, first: make(chan struct{}), renderer: screen.Renderer{Verbose: true},
		lines: map[position][]string{}, output: map[position]string{}, notifier: screen.Notifier{Attention: how}, started: now,
	}
}

// run follows the session until ctx ends, also while no kernel holds it. An error ends it.
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
			f.await(ctx, filepath.Join(s.Dir, "events.jsonl"))
		}
	}
	return nil
}

// await returns when the journal has changed, or ctx ends.
func (f *feed) await(ctx context.Context, journal string) {
	before := size(journal)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for size(journal) == before {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// size returns the size of a file, -1 if there is none.
func size(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return -1
	}
	return info.Size()
}

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

// observe adds an update, unless it is an old one.
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
	at := []position{{}}
	if c := e.Cursor; c != nil {
		at = at[:0]
		if c.Provider != "" || c.Step != "" {
			at = append(at, position{c.NodePath, c.Provider, c.Step})
		}
		for path := c.NodePath; path != ""; path = path[:max(strings.LastIndexByte(path, '.'), 0)] {
			at = append(at, position{path: path})
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
		f.setOutput(e, at)
	}
}

// isShown reports whether a line is shown here; frames and details for troubleshooting are not.
func isShown(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && !strings.ContainsAny(line[:min(len(line), 3)], "┌│└╔║╚╠") && !strings.HasPrefix(line, "·")
}

// addLine adds a line to a position, and drops the oldest ones of many.
func (f *feed) addLine(at position, line string) {
	f.lines[at] = append(f.lines[at], line)
	if all := f.lines[at]; len(all) > 2*maxLines {
		f.lines[at] = slices.Clone(all[len(all)-maxLines:])
	}
}

// setOutput stores the path of an iteration's output.
func (f *feed) setOutput(e event.Event, at []position) {
	d, err := event.Decode[struct {
		Output *event.Ref `json:"output"`
	}](e)
	if err != nil || d.Output == nil {
		return
	}
	for _, s := range at {
		f.output[s] = d.Output.Path
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
	path := f.output[position{r.Path, r.Branch, r.Step}]
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
