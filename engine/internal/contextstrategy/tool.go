package contextstrategy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Bounds of the sections of tool calls.
const (
	maxTools  = 10       // newest results
	maxArgs   = 2 << 10  // bytes of a call's arguments
	firstRead = 64 << 10 // bytes at the end of the journal that are read first
)

// toolCall is a tool result with the call that it answers.
type toolCall struct {
	call   event.ToolCallData
	known  bool // the call was found
	result event.ToolResultData
}

// toolResults adds the last tool results in this visit of the node; of its step alone if steps run in parallel,
// because their order is random.
func (b *builder) toolResults() {
	var found []toolCall
	for size, complete := int64(firstRead), false; !complete && b.err == nil; size *= 2 {
		var err error
		found, complete, err = b.readToolCalls(size)
		b.keep(err)
	}
	for i, c := range found {
		b.add(Talk, fmt.Sprintf("tool result %d of %d: %s", i+1, len(found), c.call.Tool), b.toolResultText(c.call, c.result))
	}
}

// readToolCalls returns the last tool results with their calls, the oldest first, from the last size bytes of the
// journal. complete is false if earlier ones, or calls, may be in the bytes before.
func (s Source) readToolCalls(size int64) (found []toolCall, complete bool, err error) {
	lines, complete, err := s.lastJournalLines(size)
	calls := map[string]event.ToolCallData{}
	for _, text := range lines {
		e := toolEvent(text)
		switch {
		case e.Type == event.NodeStart && e.Cursor.NodePath == s.Command.Location.Outer():
			found, complete = nil, true
		case e.Type == event.ToolCall && s.isFromHere(e):
			d, unread := event.Decode[event.ToolCallData](e)
			err = cmp.Or(err, unread)
			calls[string(e.Key)+"#"+d.CallID] = d
		case e.Type == event.ToolResult && s.isFromHere(e):
			d, unread := event.Decode[event.ToolResultData](e)
			err = cmp.Or(err, unread)
			call, known := calls[string(e.Key)+"#"+d.CallID]
			found = append(found, toolCall{call, known, d})
		}
	}
	found = found[max(0, len(found)-maxTools):]
	return found, complete || len(found) == maxTools && !slices.ContainsFunc(found, func(c toolCall) bool { return !c.known }), err
}

// toolResultText renders a call and its result.
func (s Source) toolResultText(call event.ToolCallData, d event.ToolResultData) string {
	args := s.readPayload(call.Args, call.ArgsRef)
	if len(args) > maxArgs {
		args = strings.ToValidUTF8(args[:maxArgs], "") + " …"
	}
	return fmt.Sprintf("%s %s\n%s:\n%s", call.Tool, args, d.Status, s.readPayload(d.Result, d.ResultRef))
}

// readPayload returns inline data, or the data of its file.
func (s Source) readPayload(inline []byte, ref *event.Ref) string {
	if ref == nil {
		return string(inline)
	}
	data, err := s.Dir.Read(ref.Path, maxFile)
	if err != nil {
		return fmt.Sprintf("(%d bytes in %s)", ref.Size, ref.Path)
	}
	return strings.ToValidUTF8(string(data), "")
}

// toolEvent decodes a line with a tool event or a node_start, the zero event for any other. The journal's own reader
// reports broken lines.
func toolEvent(text []byte) event.Event {
	if !bytes.Contains(text, []byte(`"tool_`)) && !bytes.Contains(text, []byte(`"node_start"`)) {
		return event.Event{}
	}
	e, err := event.ParseLine(text)
	if err != nil || e.Cursor == nil || e.Type != event.ToolCall && e.Type != event.ToolResult && e.Type != event.NodeStart {
		return event.Event{}
	}
	return e
}

// isFromHere reports whether a tool event is from this iteration's location.
func (s Source) isFromHere(e event.Event) bool {
	_, at, _, ok := e.Key.Parse()
	parallel := s.Node.Steps != nil && s.Node.Steps.Parallel
	return ok && at.Node == s.Command.Location.Node && at.Branch == s.Command.Location.Branch && (!parallel || at.Step == s.Command.Location.Step)
}

// lastJournalLines returns the lines in the last size bytes of the journal, none without a journal. complete reports
// that these are all.
func (s Source) lastJournalLines(size int64) (lines [][]byte, complete bool, err error) {
	f, err := s.Dir.OpenRegular(store.EventsFile)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, true, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, true, err
	}
	from := max(0, info.Size()-size)
	text, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	lines = bytes.Split(text, []byte{'\n'})
	if from > 0 {
		lines = lines[1:] // the first one may be the end of a line
	}
	return lines, from == 0, err
}
