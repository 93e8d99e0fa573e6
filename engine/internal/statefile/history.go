package statefile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// history is the list of completed iterations, kept as the text of the file: rendering a thousand entries for each
// iteration would cost more than all else.
type history struct {
	text  bytes.Buffer
	count int
}

// add renders an entry; the indentation is that of the file.
func (h *history) add(e Iteration) error {
	text, err := render(e, "    ")
	if err != nil {
		return err
	}
	if h.count > 0 {
		h.text.WriteByte(',')
	}
	h.text.WriteString("\n    ")
	h.text.Write(text)
	h.count++
	return nil
}

// ReadHistory reads a file that [WriteHistory] wrote.
func ReadHistory(dir *store.Dir, ref event.Ref) ([]Iteration, error) {
	text, err := dir.ReadRef(ref)
	if err != nil {
		return nil, err
	}
	var past []Iteration
	if err := json.Unmarshal(text, &past); err != nil {
		return nil, failure.New(failure.StateCorrupt, "read %s: %w", dir.Abs(ref.Path), err).WithHint("state.json shows a shorter history without it")
	}
	return past, nil
}

// WriteHistory writes a history to a file and returns the reference for an event.
func WriteHistory(dir *store.Dir, name string, past []Iteration) (event.Ref, error) {
	text, err := render(append([]Iteration{}, past...), "")
	if err != nil {
		return event.Ref{}, fmt.Errorf("render %s: %w", name, err)
	}
	return dir.Write(name, append(text, '\n'))
}

// RebuildHistory returns the history of the newest run: an imported history, and the entries of iteration_complete
// events outside parallel blocks.
func RebuildHistory(dir *store.Dir, p *plan.Plan, events []event.Event) ([]Iteration, error) {
	var past []Iteration
	for _, e := range events {
		entries, restarts, err := entries(dir, p, e)
		if err != nil {
			return past, err
		}
		if restarts {
			past = nil
		}
		past = append(past, entries...)
	}
	return past, nil
}

// entries returns the entries that an event adds to the history. restarts reports whether earlier entries do not count,
// because a new run begins or the whole history was imported.
func entries(dir *store.Dir, p *plan.Plan, e event.Event) (added []Iteration, restarts bool, err error) {
	switch e.Type {
	case event.SessionStart:
		return nil, e.RunID != "", nil
	case event.SessionImported:
		d, err := event.Decode[event.SessionImportedData](e)
		if err != nil || d.History == nil {
			return nil, false, err
		}
		added, err = ReadHistory(dir, *d.History)
		return added, err == nil, err
	}
	if it, ok := entry(dir, p, e); ok {
		added = []Iteration{it}
	}
	return added, false, nil
}

// render returns JSON indented as by jq, without a newline at the end.
func render(v any, prefix string) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent(prefix, "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), nil
}

// entry returns the history entry of an iteration_complete event; ok is false for other events and for those of
// parallel blocks.
func entry(dir *store.Dir, p *plan.Plan, e event.Event) (_ Iteration, ok bool) {
	if e.Type != event.IterationComplete || e.Cursor == nil || e.Cursor.Provider != "" {
		return Iteration{}, false
	}
	d, err := event.Decode[event.IterationCompleteData](e)
	if err != nil {
		return Iteration{}, false
	}
	if e.RunID == "" { // an event of the Bash engine names only the result's file
		d = withResult(dir, d)
	}
	if d.Stage == "" {
		if n := p.Find(e.Cursor.NodePath); n != nil {
			d.Stage = n.ID
		}
	}
	return Iteration{
		Iteration: e.Cursor.Iteration, Timestamp: stamp(e.Time), Stage: d.Stage, Decision: d.Decision, Reason: d.Reason,
		Summary: d.Summary, FilesTouched: list(d.FilesTouched), ItemsCompleted: list(d.ItemsCompleted), Signals: d.Signals,
	}, true
}

// withResult adds the readable data of the result file.
func withResult(dir *store.Dir, d event.IterationCompleteData) event.IterationCompleteData {
	name, err := filepath.Rel(dir.Path(), d.ResultFile)
	if d.ResultFile == "" || err != nil || !filepath.IsLocal(name) {
		return d
	}
	text, err := dir.Read(filepath.ToSlash(name), result.MaxBytes)
	if err != nil {
		return d
	}
	if r, err := result.Normalize(text, nil, false); err == nil {
		d.Summary, d.FilesTouched, d.ItemsCompleted, d.Signals = r.Result.Summary, r.Result.Work.FilesTouched, r.Result.Work.ItemsCompleted, r.Result.Signals
	}
	return d
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
