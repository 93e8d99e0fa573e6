package statefile

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// maxResult bounds a result file, in bytes.
const maxResult = 1 << 20

// sealAt is how much text of the history is kept as it is, in bytes. What is older is compressed.
const sealAt = 1 << 20

// history is the list of completed iterations, kept as the text of the file: rendering a thousand entries for each
// iteration would cost more than all else. It grows with the session, so all but the newest part is compressed.
type history struct {
	sealed [][]byte     // pieces of the text, each compressed separately
	text   bytes.Buffer // the text after them
	size   int          // of all the text, bytes
	count  int
	press  *flate.Writer // nil until it is needed
}

// add renders an entry; the indentation is that of the file.
func (h *history) add(e Iteration) error {
	text, err := render(e, "    ")
	if err != nil {
		return err
	}
	before := h.text.Len()
	if h.count > 0 {
		h.text.WriteByte(',')
	}
	h.text.WriteString("\n    ")
	h.text.Write(text)
	h.size += h.text.Len() - before
	if h.count++; h.text.Len() < sealAt {
		return nil
	}
	return h.seal()
}

// seal compresses the newest text.
func (h *history) seal() error {
	var out bytes.Buffer
	if h.press == nil {
		var err error
		if h.press, err = flate.NewWriter(&out, flate.BestSpeed); err != nil {
			return err
		}
	}
	h.press.Reset(&out)
	if _, err := h.press.Write(h.text.Bytes()); err != nil {
		return err
	}
	if err := h.press.Close(); err != nil {
		return err
	}
	h.sealed = append(h.sealed, bytes.Clone(out.Bytes()))
	h.text.Reset()
	return nil
}

// write writes the text.
func (h *history) write(to io.Writer) error {
	for _, piece := range h.sealed {
		if _, err := io.Copy(to, flate.NewReader(bytes.NewReader(piece))); err != nil { //nolint:gosec // it is our own
			return err
		}
	}
	_, err := to.Write(h.text.Bytes())
	return err
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

// WriteHistory keeps a history in a file, for an event to refer to.
func WriteHistory(dir *store.Dir, name string, past []Iteration) (event.Ref, error) {
	text, err := render(append([]Iteration{}, past...), "")
	if err != nil {
		return event.Ref{}, fmt.Errorf("render %s: %w", name, err)
	}
	return dir.Write(name, append(text, '\n'))
}

// RebuildHistory are the history's entries that events give: those of iteration_complete events outside
// parallel blocks, of the newest run.
func RebuildHistory(dir *store.Dir, p *plan.Plan, events []event.Event) ([]Iteration, error) {
	var past []Iteration
	for _, e := range events {
		if e.Type == event.SessionStart && e.RunID != "" {
			past = nil
		}
		if e.Type == event.SessionImported {
			d, err := event.Decode[event.SessionImportedData](e)
			if err == nil && d.History != nil {
				past, err = ReadHistory(dir, *d.History)
			}
			if err != nil {
				return past, err
			}
		}
		if it, ok := entry(dir, p, e); ok {
			past = append(past, it)
		}
	}
	return past, nil
}

func (h *history) reset() { *h = history{} }

// render is pretty-printed JSON as jq writes it, without a newline at the end.
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

// entry makes a history entry of an iteration_complete event; ok is false for one of a parallel block,
// which the session's history leaves out.
func entry(dir *store.Dir, p *plan.Plan, e event.Event) (_ Iteration, ok bool) {
	if e.Type != event.IterationComplete || e.Cursor == nil || e.Cursor.Provider != "" {
		return Iteration{}, false
	}
	d, err := event.Decode[event.IterationCompleteData](e)
	if err != nil {
		return Iteration{}, false
	}
	if e.RunID == "" { // the Bash engine's events leave the result in its file
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

// withResult fills in what the result file says, as far as it can be read.
func withResult(dir *store.Dir, d event.IterationCompleteData) event.IterationCompleteData {
	name, err := filepath.Rel(dir.Path(), d.ResultFile)
	if d.ResultFile == "" || err != nil || !filepath.IsLocal(name) {
		return d
	}
	text, err := dir.Read(filepath.ToSlash(name), maxResult)
	if err != nil {
		return d
	}
	var r struct {
		Summary string `json:"summary"`
		Work    struct {
			ItemsCompleted []string `json:"items_completed"`
			FilesTouched   []string `json:"files_touched"`
		} `json:"work"`
		Signals event.Signals `json:"signals"`
	}
	if json.Unmarshal(text, &r) != nil {
		return d
	}
	d.Summary, d.FilesTouched, d.ItemsCompleted, d.Signals = r.Summary, r.Work.FilesTouched, r.Work.ItemsCompleted, r.Signals
	return d
}

func list(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
