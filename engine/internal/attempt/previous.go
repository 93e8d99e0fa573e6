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
	maxChanged      = 100     // paths of the workspace in an event
	maxChangedBytes = 8 << 10 // bytes of them
	maxRecords      = 1 << 20 // bytes of attempts.jsonl, from its end

	// tick bounds the lag of the file system's clock behind the clock of attempts.jsonl.
	tick = 10 * time.Millisecond
)

// previousAttempt is the attempt before this retry.
type previousAttempt struct {
	record                       // its last line of attempts.jsonl
	startedAt, endedAt time.Time // endedAt: when it was abandoned, or when this kernel opened the session
}

// failureKind returns the kind of failure that ended the attempt, "" after a crash.
func (s *previousAttempt) failureKind() string {
	if s == nil {
		return ""
	}
	return s.ErrorType
}

// findPrevious returns the previous attempt of the iteration, nil for the first. Call it before this attempt writes
// any file.
func (a *attempt) findPrevious() (*previousAttempt, error) {
	context, err := a.Dir.Stat(a.iteration.Context())
	if err != nil {
		return nil, ignoreNotExist(err)
	}
	records, err := a.Dir.Stat(a.iteration.Attempts())
	if err != nil { // an iteration of the Bash engine
		return nil, ignoreNotExist(err)
	}
	text, err := a.readTail(a.iteration.Attempts(), records.Size())
	if err != nil {
		return nil, err
	}
	s := &previousAttempt{startedAt: context.ModTime(), endedAt: a.OpenedAt}
	for line := range bytes.Lines(text) {
		var r record
		if json.Unmarshal(line, &r) == nil && r.Attempt > 0 {
			s.record = r
		}
	}
	if at, err := time.Parse(time.RFC3339Nano, s.StartedAt); err == nil {
		s.startedAt = at.Add(-tick)
	}
	if s.EndedAt != "" && records.ModTime().After(s.endedAt) {
		s.endedAt = records.ModTime()
	}
	return s, nil
}

// ignoreNotExist returns nil for the error of a missing file, else err.
func ignoreNotExist(err error) error {
	var known *failure.Error
	if errors.Is(err, fs.ErrNotExist) && !errors.As(err, &known) {
		return nil
	}
	return err
}

// readTail returns the end of a session file.
func (a *attempt) readTail(name string, size int64) ([]byte, error) {
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

// reportWorkspaceChanges records the workspace's changes since the previous attempt began, and keeps them for the
// prompt. It skips a retry of an invalid artifact, which continues that attempt's work.
func (a *attempt) reportWorkspaceChanges(ctx context.Context) {
	s := a.previousTry
	if s == nil || len(a.loop().Faults) > 0 {
		return
	}
	changes, partial := workspace.Since(ctx, a.Project, s.startedAt)
	d := event.AttemptSupersededData{
		Attempt: s.Attempt, Epoch: s.Epoch, GivenUp: s.failureKind(), Partial: partial, Shared: a.command.Location.Branch != "",
		Head: workspace.HeadSince(a.Project.Path(), s.startedAt),
	}
	d.Changed, d.More = changedPaths(changes)
	a.recordInfo(ctx, event.AttemptSuperseded, d)
	a.workspaceChanges = d
	if s.EndedAt == "" { // its end is unknown
		return
	}
	var late []workspace.Change
	for _, c := range changes {
		if c.At.After(s.endedAt) {
			late = append(late, c)
		}
	}
	if len(late) > 0 {
		l := event.LateDeliveryData{Kind: event.LateFiles, Attempt: s.Attempt, GivenUp: s.failureKind()}
		l.Files, l.More = changedPaths(late)
		a.recordLateDelivery(l)
	}
	if h := workspace.HeadSince(a.Project.Path(), s.endedAt.Add(time.Second)); h != nil { // git's log has whole seconds
		a.recordLateDelivery(event.LateDeliveryData{Kind: event.LateCommit, Attempt: s.Attempt, GivenUp: s.failureKind(), Head: h})
	}
}

// changedPaths returns the first paths of changes and the number of the others.
func changedPaths(changes []workspace.Change) (paths []string, more int) {
	paths = []string{}
	left := maxChangedBytes
	for i, c := range changes {
		if left -= len(c.Path); i == maxChanged || left < 0 {
			return paths, len(changes) - i
		}
		paths = append(paths, c.Path)
	}
	return paths, 0
}

// supersededReport describes the changes since the previous attempt began for the agent, "" without changes.
func (a *attempt) supersededReport() string {
	d := a.workspaceChanges
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
		fmt.Fprintf(&b, "and %s\n", moreText(d))
	}
	if d.Head != nil {
		fmt.Fprintf(&b, "The head of the repository moved from %s to %s.\n", d.Head.From, d.Head.To)
	}
	return b.String()
}

func moreText(d event.AttemptSupersededData) string {
	switch {
	case d.Partial && d.More > 0:
		return fmt.Sprintf("%d more, perhaps others", d.More)
	case d.Partial:
		return "perhaps others"
	}
	return fmt.Sprintf("%d more", d.More)
}
