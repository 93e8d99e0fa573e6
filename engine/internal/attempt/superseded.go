package attempt

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/workspace"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

const (
	maxChanged = 100     // paths of the workspace in an event
	maxToldOf  = 8 << 10 // bytes of them
	maxRecords = 1 << 20 // bytes of attempts.jsonl, from its end

	// tick is how far the clock of a file system may be behind the one that attempts.jsonl has its times from.
	tick = 10 * time.Millisecond
)

// superseded is the attempt before this one, which is made again.
type superseded struct {
	record                // its last one
	began, over time.Time // over: when it was given up, or the time from which on nothing of it can count
}

// givenUpFor is the kind of the failure that it was given up for, "" where a crash cut it off.
func (s *superseded) givenUpFor() string {
	if s == nil {
		return ""
	}
	return s.ErrorType
}

// lookBack finds the attempt of the iteration before this one, nil if this is the first. It comes before any file is
// written for this one.
func (a *attempt) lookBack() (*superseded, error) {
	told, err := a.Dir.Stat(a.iteration.Context())
	if err != nil {
		return nil, unlessThere(err)
	}
	records, err := a.Dir.Stat(a.iteration.Attempts())
	if err != nil { // an iteration of the Bash engine
		return nil, unlessThere(err)
	}
	text, err := a.tail(a.iteration.Attempts(), records.Size())
	if err != nil {
		return nil, err
	}
	s := &superseded{began: told.ModTime(), over: a.Began}
	for line := range bytes.Lines(text) {
		var r record
		if json.Unmarshal(line, &r) == nil && r.Attempt > 0 {
			s.record = r
		}
	}
	if at, err := time.Parse(time.RFC3339Nano, s.StartedAt); err == nil {
		s.began = at.Add(-tick)
	}
	if s.EndedAt != "" && records.ModTime().After(s.over) {
		s.over = records.ModTime()
	}
	return s, nil
}

// unlessThere is the error but for a file that is not there.
func unlessThere(err error) error {
	var known *failure.Error
	if errors.Is(err, fs.ErrNotExist) && !errors.As(err, &known) {
		return nil
	}
	return err
}

// tail is the end of a file of the session.
func (a *attempt) tail(name string, size int64) ([]byte, error) {
	f, err := a.Dir.OpenRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := make([]byte, min(size, maxRecords))
	n, err := f.ReadAt(text, size-int64(len(text)))
	if n < len(text) {
		return nil, err
	}
	return text, nil
}

// tellSuperseded records what changed in the workspace since the attempt before this one began, and keeps it for the
// agent's prompt. An attempt after one whose artifact was bad goes on from what that did: nothing of it is superseded.
func (a *attempt) tellSuperseded(ctx context.Context) {
	s := a.before
	if s == nil || len(a.loop().Faults) > 0 {
		return
	}
	changes, partial := workspace.Since(ctx, a.Project, s.began)
	d := event.AttemptSupersededData{
		Of: s.Attempt, Epoch: s.Epoch, GivenUp: s.givenUpFor(), Partial: partial, Shared: a.command.Location.Branch != "",
		Head: workspace.HeadSince(a.Project.Path(), s.began),
	}
	d.Changed, d.More = listed(changes)
	a.inform(ctx, event.AttemptSuperseded, d)
	a.changed = d
	if s.EndedAt == "" { // nobody knows when it ended
		return
	}
	var late []workspace.Change
	for _, c := range changes {
		if c.At.After(s.over) {
			late = append(late, c)
		}
	}
	if len(late) > 0 {
		l := event.LateDeliveryData{What: event.LateFiles, Of: s.Attempt, GivenUp: s.givenUpFor()}
		l.Files, l.More = listed(late)
		a.tellLate(l)
	}
	if h := workspace.HeadSince(a.Project.Path(), s.over.Add(time.Second)); h != nil { // its log has whole seconds
		a.tellLate(event.LateDeliveryData{What: event.LateCommit, Of: s.Attempt, GivenUp: s.givenUpFor(), Head: h})
	}
}

// listed are the first paths of changes, and how many there are beyond.
func listed(changes []workspace.Change) (paths []string, more int) {
	paths = []string{}
	room := maxToldOf
	for i, c := range changes {
		if room -= len(c.Path); i == maxChanged || room < 0 {
			return paths, len(changes) - i
		}
		paths = append(paths, c.Path)
	}
	return paths, 0
}

// unfinished tells the agent what changed since the attempt before its own began, "" if nothing did.
func (a *attempt) unfinished() string {
	d := a.changed
	if len(d.Changed) == 0 && d.Head == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "An attempt at this was given up before it was done (%s). What it began may be half done: look at it before you go on.\n", cmp.Or(d.GivenUp, "it was cut off"))
	if len(d.Changed) > 0 {
		b.WriteString("Changed since it began:\n")
	}
	for _, name := range d.Changed {
		fmt.Fprintf(&b, "- %s\n", name)
	}
	if d.More > 0 || d.Partial {
		fmt.Fprintf(&b, "and %s\n", beyond(d))
	}
	if d.Head != nil {
		fmt.Fprintf(&b, "The head of the repository moved from %s to %s.\n", d.Head.From, d.Head.To)
	}
	return b.String()
}

func beyond(d event.AttemptSupersededData) string {
	switch {
	case d.Partial && d.More > 0:
		return fmt.Sprintf("%d more, perhaps others", d.More)
	case d.Partial:
		return "perhaps others"
	}
	return fmt.Sprintf("%d more", d.More)
}
