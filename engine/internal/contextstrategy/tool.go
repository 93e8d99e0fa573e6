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

// Bounds of what is said of tool calls.
const (
	maxTools = 10       // calls whose results are told, the newest ones
	maxArgs  = 2 << 10  // bytes of a call's arguments
	maxBlock = 64 << 10 // bytes of the journal that are read at once
)

// toolResults are the last results of tools in this visit of the node: of its step alone where steps run side by
// side, since their order would be chance.
func (s Source) toolResults() ([]Section, error) {
	var results []event.Event
	calls := map[string]event.ToolCallData{}
	id := func(e event.Event, call string) string { return string(e.Key) + "#" + call }
	for e, err := range s.backwards() {
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
		if len(results) == maxTools && known(results, calls, id) {
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
			Kind: Talk, Name: fmt.Sprintf("tool result %d of %d: %s", i+1, len(results), call.Tool), Text: s.told(call, d),
		})
	}
	return sections, nil
}

// known reports whether the calls of all results are.
func known(results []event.Event, calls map[string]event.ToolCallData, id func(event.Event, string) string) bool {
	return !slices.ContainsFunc(results, func(e event.Event) bool {
		d, _ := event.Decode[event.ToolResultData](e) // decoded again by whoever tells it
		_, ok := calls[id(e, d.CallID)]
		return !ok
	})
}

// told is a call and its result as an agent reads it.
func (s Source) told(call event.ToolCallData, d event.ToolResultData) string {
	args := s.raw(call.Args, call.ArgsRef)
	if len(args) > maxArgs {
		args = strings.ToValidUTF8(args[:maxArgs], "") + " …"
	}
	return fmt.Sprintf("%s %s\n%s:\n%s", call.Tool, args, d.Status, s.raw(d.Result, d.ResultRef))
}

// raw is a part of a call, wherever it is.
func (s Source) raw(inline []byte, ref *event.Ref) string {
	if ref == nil {
		return string(inline)
	}
	data, err := s.Dir.Read(ref.Path, maxFile)
	if err != nil {
		return fmt.Sprintf("(%d bytes in %s)", ref.Size, ref.Path)
	}
	return strings.ToValidUTF8(string(data), "")
}

// backwards yields the tool events of this visit of the node, the newest first. The journal is read from its end, and
// no further than the visit's beginning.
func (s Source) backwards() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for text, err := range s.journal() {
			e := toolEvent(text)
			switch {
			case err != nil:
				yield(event.Event{}, err)
				return
			case e.Type == event.NodeStart && e.Cursor.NodePath == s.Location.Outer():
				return
			case e.Type != event.NodeStart && s.concerns(e) && !yield(e, nil):
				return
			}
		}
	}
}

// toolEvent is the event of a line, the zero one if it is of no tool and begins no visit. What cannot be read the
// journal's own reader judges.
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

// concerns reports whether a tool was used where this iteration works.
func (s Source) concerns(e event.Event) bool {
	_, at, _, ok := e.Key.Parse()
	parallel := s.Node.Steps != nil && s.Node.Steps.Parallel
	return ok && at.Node == s.Location.Node && at.Branch == s.Location.Branch && (!parallel || at.Step == s.Location.Step)
}

// journal yields the lines of the journal, the last first; none if there is no journal yet.
func (s Source) journal() iter.Seq2[[]byte, error] {
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
		reversed(f, info.Size(), yield)
	}
}

// reversed yields the lines of a file of that size, the last first.
func reversed(f io.ReaderAt, size int64, yield func([]byte, error) bool) {
	var rest []byte // the line through which the last block's beginning went
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
