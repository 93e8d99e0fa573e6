package contextstrategy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Bounds of the sections of tool calls.
const (
	maxTools = 10       // newest results
	maxArgs  = 2 << 10  // bytes of a call's arguments
	maxBlock = 64 << 10 // bytes of the journal that are read at once
)

// toolResults returns the last tool results in this visit of the node; of its step alone if steps run in parallel,
// because their order is random.
func (s Source) toolResults() ([]Section, error) {
	var results []event.Event
	calls := map[string]event.ToolCallData{}
	id := func(e event.Event, call string) string { return string(e.Key) + "#" + call }
	for e, err := range s.toolEventsBackwards() {
		if err != nil {
			return nil, err
		}
		switch e.Type {
		case event.ToolResult:
			if len(results) < maxTools {
				results = append(results, e)
			}
		case event.ToolCall:
			d, err := event.Decode[event.ToolCallData](e)
			if err != nil {
				return nil, err
			}
			calls[id(e, d.CallID)] = d
		}
		if len(results) == maxTools && allCallsKnown(results, calls, id) {
			break
		}
	}
	slices.Reverse(results)
	sections := make([]Section, 0, len(results))
	for i, e := range results {
		d, err := event.Decode[event.ToolResultData](e)
		if err != nil {
			return nil, err
		}
		call := calls[id(e, d.CallID)]
		sections = append(sections, Section{
			Kind: Talk, Name: fmt.Sprintf("tool result %d of %d: %s", i+1, len(results), call.Tool), Text: s.toolResultText(call, d),
		})
	}
	return sections, nil
}

// allCallsKnown reports whether the calls of all results have been read.
func allCallsKnown(results []event.Event, calls map[string]event.ToolCallData, id func(event.Event, string) string) bool {
	return !slices.ContainsFunc(results, func(e event.Event) bool {
		d, _ := event.Decode[event.ToolResultData](e) // toolResults decodes it again and reports the error
		_, ok := calls[id(e, d.CallID)]
		return !ok
	})
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

// toolEventsBackwards yields the tool events of this visit of the node, the newest first. It reads the journal from
// its end to the beginning of the visit.
func (s Source) toolEventsBackwards() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for text, err := range s.journalLinesBackwards() {
			e := toolEvent(text)
			switch {
			case err != nil:
				yield(event.Event{}, err)
				return
			case e.Type == event.NodeStart && e.Cursor.NodePath == s.Location.Outer():
				return
			case e.Type != event.NodeStart && s.isFromHere(e) && !yield(e, nil):
				return
			}
		}
	}
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
	return ok && at.Node == s.Location.Node && at.Branch == s.Location.Branch && (!parallel || at.Step == s.Location.Step)
}

// journalLinesBackwards yields the lines of the journal, the last first; none without a journal.
func (s Source) journalLinesBackwards() iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f, err := s.Dir.OpenRegular(store.EventsFile)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			yield(nil, err)
			return
		}
		linesBackwards(f, info.Size(), yield)
	}
}

// linesBackwards yields the lines of a file of that size, the last first.
func linesBackwards(f io.ReaderAt, size int64, yield func([]byte, error) bool) {
	var rest []byte // the rest of the line that crosses the last block's beginning
	for end := size; end > 0; {
		block := make([]byte, min(end, maxBlock))
		end -= int64(len(block))
		if _, err := f.ReadAt(block, end); err != nil && !errors.Is(err, io.EOF) {
			yield(nil, err)
			return
		}
		lines := bytes.Split(slices.Concat(block, rest), []byte{'\n'})
		if end > 0 {
			rest, lines = lines[0], lines[1:]
		}
		for _, text := range slices.Backward(lines) {
			if !yield(text, nil) {
				return
			}
		}
	}
}
