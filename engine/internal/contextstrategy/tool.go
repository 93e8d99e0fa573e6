package contextstrategy

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Bounds of the sections of tool calls.
const (
	maxTools   = 10      // newest results
	maxArgs    = 2 << 10 // bytes of a call's arguments
	maxJournal = 1 << 20 // bytes at the end of the journal that are read
)

// toolCall is a tool result with its call. The call is zero if the end of the journal lacks it.
type toolCall struct {
	call   event.ToolCallData
	result event.ToolResultData
}

// toolResults adds the last tool results in this visit of the node, as far as the end of the journal has them. If
// steps run in parallel, their order is random, and toolResults adds only the results of this step.
func (b *builder) toolResults() {
	lines, err := b.lastJournalLines()
	b.keep(err)
	var found []toolCall
	calls := map[string]event.ToolCallData{}
	for _, text := range lines {
		e := toolEvent(text)
		switch {
		case e.Type == event.NodeStart && e.Cursor.NodePath == b.Command.Location.Outer():
			found = nil
		case e.Type == event.ToolCall && b.isFromLocation(e):
			d, err := event.Decode[event.ToolCallData](e)
			b.keep(err)
			calls[string(e.Key)+"#"+d.CallID] = d
		case e.Type == event.ToolResult && b.isFromLocation(e):
			d, err := event.Decode[event.ToolResultData](e)
			b.keep(err)
			found = append(found, toolCall{calls[string(e.Key)+"#"+d.CallID], d})
		}
	}
	found = found[max(0, len(found)-maxTools):]
	for i, c := range found {
		tool := cmp.Or(c.call.Tool, c.result.Tool)
		b.add(Talk, fmt.Sprintf("tool result %d of %d: %s", i+1, len(found), tool), b.toolResultText(c.call, c.result))
	}
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

// toolEvent decodes a line with a tool event or a node_start, and returns the zero event for any other line. The
// journal's own reader reports broken lines.
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

// isFromLocation reports whether a tool event is from this iteration's location.
func (s Source) isFromLocation(e event.Event) bool {
	_, at, _, ok := e.Key.Parse()
	parallel := s.Node.Steps != nil && s.Node.Steps.Parallel
	return ok && at.Node == s.Command.Location.Node && at.Branch == s.Command.Location.Branch && (!parallel || at.Step == s.Command.Location.Step)
}

// lastJournalLines returns the lines at the end of the journal, none without a journal.
func (s Source) lastJournalLines() ([][]byte, error) {
	f, err := s.Dir.OpenRegular(store.EventsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-maxJournal)
	text, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	lines := bytes.Split(text, []byte{'\n'})
	if from > 0 {
		lines = lines[1:] // the first one may be the end of a line
	}
	return lines, err
}
