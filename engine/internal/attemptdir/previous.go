package attemptdir

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/workspace"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

const (
	maxRecords = 1 << 20 // bytes of attempts.jsonl, from its end

	// tick bounds the lag of the file system's clock behind the clock of attempts.jsonl.
	tick = 10 * time.Millisecond

	maxChanged      = 100     // paths of the workspace in an event
	maxChangedBytes = 8 << 10 // bytes of them
)

// record is a line of attempts.jsonl. Each attempt has two: one at its start without ended_at, one at its end
// (REQUIREMENTS U069).
type record struct {
	Attempt    int    `json:"attempt"`
	Epoch      int    `json:"epoch"`
	Status     string `json:"status"` // running, completed, failed
	Error      string `json:"error,omitempty"`
	ErrorType  string `json:"error_type,omitempty"`
	StartedAt  string `json:"started_at"`
	EndedAt    string `json:"ended_at,omitempty"`
	OutputPath string `json:"output_path,omitempty"` // relative to the session
	// Heal numbers this retry among those caused by an invalid artifact, and Faults are that artifact's faults. Both
	// only at the start.
	Heal   int           `json:"heal,omitempty"`
	Faults []event.Fault `json:"faults,omitempty"`
}

// previous is the attempt before this one.
type previous struct {
	record                       // its last line of attempts.jsonl
	startedAt, endedAt time.Time // endedAt: when it was abandoned, or when this kernel opened the session
}

// late returns a late delivery of the attempt.
func (p *previous) late(kind string) event.LateDeliveryData {
	return event.LateDeliveryData{Kind: kind, Attempt: p.Attempt, GivenUp: p.ErrorType}
}

// findPrevious returns the previous attempt of the iteration, nil for the first. openedAt is the time when this kernel
// opened the session. Call it before this attempt writes any file.
func findPrevious(d *store.Dir, it store.Iteration, openedAt time.Time) (*previous, error) {
	context, err := d.Stat(it.Context())
	if err != nil {
		return nil, ignoreNotExist(err)
	}
	records, err := d.Stat(it.Attempts())
	if err != nil { // an iteration of the Bash engine
		return nil, ignoreNotExist(err)
	}
	text, err := readTail(d, it.Attempts(), records.Size())
	if err != nil {
		return nil, err
	}
	p := &previous{startedAt: context.ModTime(), endedAt: openedAt}
	for line := range bytes.Lines(text) {
		var r record
		if json.Unmarshal(line, &r) == nil && r.Attempt > 0 {
			p.record = r
		}
	}
	if at, err := time.Parse(time.RFC3339Nano, p.StartedAt); err == nil {
		p.startedAt = at.Add(-tick)
	}
	if p.EndedAt != "" && records.ModTime().After(p.endedAt) {
		p.endedAt = records.ModTime()
	}
	return p, nil
}

// readTail returns the end of a session file.
func readTail(d *store.Dir, name string, size int64) ([]byte, error) {
	f, err := d.OpenRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.NewSectionReader(f, max(0, size-maxRecords), maxRecords))
}

// ignoreNotExist returns nil for the error of a missing file, else err.
func ignoreNotExist(err error) error {
	var known *failure.Error // the session's directory is missing
	if errors.Is(err, fs.ErrNotExist) && !errors.As(err, &known) {
		return nil
	}
	return err
}

// workspaceChanges returns the changes in the project since the attempt began, and the late ones among them.
func (p *previous) workspaceChanges(ctx context.Context, project *store.Project) (event.AttemptSupersededData, []event.LateDeliveryData) {
	changes, partial := workspace.Since(ctx, project, p.startedAt)
	d := event.AttemptSupersededData{
		Attempt: p.Attempt, Epoch: p.Epoch, GivenUp: p.ErrorType, Partial: partial, Head: workspace.HeadSince(project.Path(), p.startedAt),
	}
	d.Changed, d.More = changedPaths(changes)
	if p.EndedAt == "" { // its end is unknown
		return d, nil
	}
	var late []event.LateDeliveryData
	changes = slices.DeleteFunc(changes, func(c workspace.Change) bool { return !c.At.After(p.endedAt) })
	if len(changes) > 0 {
		files := p.late(event.LateFiles)
		files.Files, files.More = changedPaths(changes)
		late = append(late, files)
	}
	if h := workspace.HeadSince(project.Path(), p.endedAt.Add(time.Second)); h != nil { // git's log has whole seconds
		commit := p.late(event.LateCommit)
		commit.Head = h
		late = append(late, commit)
	}
	return d, late
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
func supersededReport(d event.AttemptSupersededData) string {
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

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
