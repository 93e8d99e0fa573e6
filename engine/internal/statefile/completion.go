package statefile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Completion describes the end of a loop, an entry of .claude/loop-completions.json.
type Completion struct {
	Session     string `json:"session"`
	Type        string `json:"type"`         // of the stage
	Status      string `json:"status"`       // one of the Completion… constants
	CompletedAt string `json:"completed_at"` // UTC, seconds
}

// The Completion constants are the ends of a loop.
const (
	CompletionComplete = "complete"
	CompletionMaximum  = "max_iterations"
	CompletionFailed   = "failed"
)

// maxCompletions bounds the file, in bytes.
const maxCompletions = 64 << 20

// RecordCompletion adds an entry to the project's list of finished loops, which all sessions of the project and the
// Bash engine share. again says whether the end may have been recorded already: then nothing is added if the session
// has an entry that is as new or newer. ctx ends the wait for the list's lock. A list that cannot be read is an error
// and is not changed.
func RecordCompletion(ctx context.Context, p *store.Project, c Completion, again bool) error {
	lock, err := p.OpenFile(store.CompletionsLock, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := store.Flock(ctx, lock); err != nil {
		return fmt.Errorf("record the end of a loop: %w", err)
	}
	entries, err := completions(p)
	if err != nil {
		return err
	}
	if again && slices.ContainsFunc(entries, func(text json.RawMessage) bool {
		var known Completion
		return json.Unmarshal(text, &known) == nil && known.Session == c.Session && known.CompletedAt >= c.CompletedAt
	}) {
		return nil
	}
	entry, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("record the end of a loop: %w", err)
	}
	text, err := render(append(entries, entry), "")
	if err != nil {
		return fmt.Errorf("record the end of a loop: %w", err)
	}
	return p.Replace(store.CompletionsFile, append(text, '\n'))
}

// completions returns the entries unchanged, so that unknown members survive.
func completions(p *store.Project) ([]json.RawMessage, error) {
	text, err := p.Read(store.CompletionsFile, maxCompletions)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(text, &entries); err != nil {
		return nil, failure.New(failure.StateCorrupt, "read %s: %w", p.Abs(store.CompletionsFile), err).
			WithHint("it should be a JSON list; move the file away to begin a new one")
	}
	return entries, nil
}
