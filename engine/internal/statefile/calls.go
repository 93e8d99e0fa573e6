package statefile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// calls keeps calls.jsonl of the steps of nodes: the journal's lines about a step's tool calls, in order, each with
// the members of a [callRecord]. A file is rewritten once, since a killed kernel may have left it older than the
// journal, and then appended to.
type calls struct {
	before     map[string][]byte             // lines of files that were not written yet
	open       map[string]bool               // files that lines are added to
	unfinished map[string]event.ToolCallData // calls that have no result yet, by key and id
}

// observe applies an event that was in the journal before the writer followed it.
func (c *calls) observe(p *plan.Plan, e event.Event) {
	if name, line := c.line(p, e); name != "" {
		c.keep(name, line)
	}
}

func (c *calls) keep(name string, line []byte) {
	if c.before == nil {
		c.before = map[string][]byte{}
	}
	c.before[name] = append(c.before[name], line...)
}

// add writes the line of an event, if the event is about a tool call of a step.
func (c *calls) add(dir *store.Dir, p *plan.Plan, e event.Event) error {
	name, line := c.line(p, e)
	switch {
	case name == "":
		return nil
	case c.open[name]:
		return dir.Append(name, bytes.TrimSuffix(line, []byte{'\n'}))
	}
	c.keep(name, line)
	return c.write(dir, name)
}

// flush writes the files that still need a rewrite.
func (c *calls) flush(dir *store.Dir) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.before)) {
		errs = append(errs, c.write(dir, name))
	}
	return errors.Join(errs...)
}

func (c *calls) write(dir *store.Dir, name string) error {
	if err := dir.Replace(name, c.before[name]); err != nil {
		return err
	}
	if c.open == nil {
		c.open = map[string]bool{}
	}
	c.open[name] = true
	delete(c.before, name)
	return nil
}

// callRecord holds the members that a line has in addition to the journal's own (REQUIREMENTS U190). The line of a
// result describes the whole call; the line of a call has no result yet.
type callRecord struct {
	Event        event.Type      `json:"event"`
	SessionID    string          `json:"session_id"`
	TaskID       string          `json:"task_id"` // the node
	StepID       string          `json:"step_id"`
	Tool         string          `json:"tool"`
	Parameters   json.RawMessage `json:"parameters,omitempty"`
	ParametersAt *event.Ref      `json:"parameters_ref,omitempty"` // instead of large parameters
	ResultStatus string          `json:"result_status,omitempty"`
	DurationMS   int64           `json:"duration_ms,omitempty"`
	Turn         int             `json:"turn,omitempty"`
	TokensUsed   int64           `json:"tokens_used,omitempty"`
	Verdict      string          `json:"verdict,omitempty"`
	Rule         string          `json:"rule,omitempty"`
}

// line returns the line of an event about a step's call, and the name of its file; "" for any other event.
func (c *calls) line(p *plan.Plan, e event.Event) (name string, line []byte) {
	if e.Type != event.ToolCall && e.Type != event.ToolResult {
		return "", nil
	}
	_, at, _, ok := e.Key.Parse()
	if !ok || at.Step == "" {
		return "", nil
	}
	dir, err := store.NodeAt(p, at)
	if err != nil {
		return "", nil
	}
	r := callRecord{Event: e.Type, SessionID: e.Session, StepID: at.Step}
	if n := p.Find(at.Node); n != nil {
		r.TaskID = n.ID
	}
	more, err := json.Marshal(c.record(e, r))
	if err != nil {
		return "", nil
	}
	if line, err = e.AppendLine(nil); err != nil {
		return "", nil
	}
	line = append(bytes.TrimSuffix(line, []byte("}\n")), ',')
	return dir.Calls(), append(append(line, more[1:]...), '\n')
}

// record adds the data of the event and of the call that it ends. Unreadable data is left out.
func (c *calls) record(e event.Event, r callRecord) callRecord {
	var call event.ToolCallData
	var end event.ToolResultData
	if e.Type == event.ToolCall {
		call, _ = event.Decode[event.ToolCallData](e)
		if c.unfinished == nil {
			c.unfinished = map[string]event.ToolCallData{}
		}
		c.unfinished[string(e.Key)+"/"+call.CallID] = call
	} else {
		end, _ = event.Decode[event.ToolResultData](e)
		id := string(e.Key) + "/" + end.CallID
		call = c.unfinished[id]
		delete(c.unfinished, id)
	}
	r.Tool, r.Turn = cmp.Or(call.Tool, end.Tool), cmp.Or(call.Turn, end.Turn)
	r.Parameters, r.ParametersAt, r.Verdict, r.Rule = call.Args, call.ArgsRef, call.Verdict, call.Rule
	r.ResultStatus, r.DurationMS, r.TokensUsed = end.Status, end.DurationMS, end.TokensUsed
	return r
}
