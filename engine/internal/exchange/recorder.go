package exchange

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// maxInline is the size limit of a tool call's arguments or result in the journal, in bytes. Larger ones are written
// to files.
const maxInline = 8 << 10

// recorder makes the journal's records of an attempt's calls.
type recorder struct {
	*effect.Effect
	dir string // the attempt's private directory
}

// newIntent returns a call's journal record.
func (r *recorder) newIntent(c sdk.ToolCall) (event.ToolCallData, error) {
	d := event.ToolCallData{
		CallID: c.CallID, Tool: event.Truncate(c.Tool, event.MaxName), Effect: string(c.Effect), Turn: c.Turn,
		Category: string(c.Category), Paths: r.redactPaths(c.Paths), Command: effect.TruncateText(r.Redactor.Text(c.Command)),
	}
	var err error
	d.Args, d.ArgsRef, err = r.inlineOrStore(c.Args, "args")
	return d, err
}

// redactPaths returns the first paths, redacted; nil for none.
func (r *recorder) redactPaths(paths []string) []string {
	if len(paths) == 0 {
		return nil
	}
	list := slices.Clone(paths)
	for i := range list {
		list[i] = r.Redactor.Text(list[i])
	}
	return effect.TruncateList(list)
}

// inlineOrStore returns redacted JSON for an event, or writes it to a file of the attempt if it is large or invalid.
func (r *recorder) inlineOrStore(raw json.RawMessage, name string) (json.RawMessage, *event.Ref, error) {
	if len(raw) == 0 {
		return nil, nil, nil
	}
	raw = r.Redactor.JSON(raw)
	if len(raw) <= maxInline && json.Valid(raw) {
		return raw, nil, nil
	}
	ref, err := r.writeBlob(name, raw)
	return nil, &ref, err
}

// writeBlob writes a file that an event refers to. The name contains a hash of the content, so that a retry in the
// same directory never overwrites it.
func (r *recorder) writeBlob(name string, data []byte) (event.Ref, error) {
	sum := sha256.Sum256(data)
	return r.Dir.Write(fmt.Sprintf("%s/%s-%x", r.dir, name, sum[:8]), data)
}

// sameCall reports whether two records are of the same call.
func sameCall(before, now event.ToolCallData) bool {
	if before.Tool != now.Tool || before.Category != now.Category || before.Command != now.Command || !slices.Equal(before.Paths, now.Paths) {
		return false
	}
	if before.ArgsRef != nil || now.ArgsRef != nil {
		return before.ArgsRef != nil && now.ArgsRef != nil && before.ArgsRef.SHA256 == now.ArgsRef.SHA256
	}
	return bytes.Equal(compactJSON(before.Args), compactJSON(now.Args))
}

// compactJSON removes the white space between tokens, as in the journal.
func compactJSON(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// Resume returns the checkpoint and calls of an attempt that a crash interrupted, nil for any other attempt.
func Resume(e *effect.Effect) (*sdk.Resume, error) {
	l := e.Loop()
	if l.Checkpoint == nil && len(l.Calls) == 0 {
		return nil, nil //nolint:nilnil // nothing to resume
	}
	r := &sdk.Resume{}
	if l.Checkpoint != nil {
		blob, err := e.Dir.ReadRef(l.Checkpoint.Blob)
		if err != nil {
			return nil, err
		}
		r.Checkpoint = sdk.Checkpoint{Turn: l.Checkpoint.Turn, Blob: blob}
	}
	for _, c := range l.Calls {
		call, err := resumedCall(e, c)
		if err != nil {
			return nil, err
		}
		r.Calls = append(r.Calls, call)
	}
	return r, nil
}

func resumedCall(e *effect.Effect, c state.Call) (sdk.ResumedCall, error) {
	args, err := readPayload(e, c.Call.Args, c.Call.ArgsRef)
	if err != nil {
		return sdk.ResumedCall{}, err
	}
	call := sdk.ResumedCall{Call: sdk.ToolCall{
		CallID: c.Call.CallID, Tool: c.Call.Tool, Args: args, Effect: sdk.Effect(c.Call.Effect), Turn: c.Call.Turn,
		Category: sdk.Category(c.Call.Category), Paths: c.Call.Paths, Command: c.Call.Command,
	}}
	if c.Result != nil {
		call.Result, err = toolResult(e, c.Result)
	}
	return call, err
}

func toolResult(e *effect.Effect, d *event.ToolResultData) (*sdk.ToolResult, error) {
	result, err := readPayload(e, d.Result, d.ResultRef)
	return &sdk.ToolResult{CallID: d.CallID, Status: sdk.ToolStatus(d.Status), Result: result}, err
}

func readPayload(e *effect.Effect, raw []byte, ref *event.Ref) ([]byte, error) {
	if ref == nil {
		return raw, nil
	}
	return e.Dir.ReadRef(*ref)
}
