package journal

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// render appends the event's line. It adds to the data the absolute path that readers of the Bash engine's
// journals expect; no fold reads it.
func (j *Journal) render(dst []byte, e event.Event) ([]byte, error) {
	if e.Type == event.IterationComplete || e.Type == event.WorkerComplete {
		e.Data = j.withResultFile(e.Data)
	}
	return e.AppendLine(dst)
}

// withResultFile puts result_file first, as Bash does, with the path of the reference under result.
func (j *Journal) withResultFile(data json.RawMessage) json.RawMessage {
	var known struct {
		ResultFile json.RawMessage `json:"result_file"`
		Result     event.Ref       `json:"result"`
	}
	if json.Unmarshal(data, &known) != nil || len(known.ResultFile) > 0 || known.Result.Path == "" {
		return data
	}
	path, _ := json.Marshal(j.dir.Abs(known.Result.Path)) // a text always marshals
	_, members, _ := bytes.Cut(data, []byte{'{'})
	return slices.Concat([]byte(`{"result_file":`), path, []byte{','}, members)
}
