package acp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// report converts the agent's notifications to reports on the exchange, and keeps the data for the result. It belongs to
// one attempt and is safe for concurrent use.
type report struct {
	x       sdk.Exchange
	partial bool   // the agent's usage does not cover the whole turn
	dir     string // the agent's working directory

	mu            sync.Mutex // guards:
	live          bool       // a turn has begun: earlier notifications replay a resumed session
	transcript    cliagent.Transcript
	message       string // the id of the current message
	startsMessage bool   // the next text begins a message
	lastMessage   strings.Builder
	thought       strings.Builder
	lastProgress  string // the last reported progress
	messages      int
	tools         map[string]*toolState
	order         []*toolState
	calls         map[string]*toolState // calls with a request for permission, by the id of the call
	refusals      []refusal             // in this turn
	deniedNames   []string              // tools refused in the last turn
	usage         *sdk.Usage
	cost          *float64
	model         string
}

func newReport(x sdk.Exchange, partial bool, dir string) *report {
	return &report{x: x, partial: partial, dir: dir, transcript: cliagent.Transcript{X: x}, startsMessage: true, tools: map[string]*toolState{}, calls: map[string]*toolState{}}
}

// startTurn begins a turn.
func (r *report) startTurn() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live, r.startsMessage, r.refusals, r.deniedNames = true, true, nil, nil
}

// update handles one update of the session. An unreadable update is ignored; the raw stream has it.
func (r *report) update(raw json.RawMessage) {
	var params struct {
		Update json.RawMessage `json:"update"`
	}
	var head struct {
		Kind string `json:"sessionUpdate"`
	}
	if !cliagent.DecodeEvent(raw, &params) || !cliagent.DecodeEvent(params.Update, &head) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.live {
		return
	}
	switch body := params.Update; head.Kind {
	case "agent_message_chunk":
		r.addText(body)
	case "agent_thought_chunk":
		r.showThought(body)
	case "tool_call", "tool_call_update":
		var u toolUpdate
		if cliagent.DecodeEvent(body, &u) && u.ToolCallID != "" {
			r.startsMessage = true
			r.updateTool(u)
		}
	case "usage_update":
		var u usageUpdate
		if cliagent.DecodeEvent(body, &u) && u.Cost != nil && u.Cost.Currency == "USD" {
			r.cost = &u.Cost.Amount // of the session so far
			r.x.Usage(*r.usageSum())
		}
	}
}

// addText adds a piece of a message. Messages are separated by an empty line.
func (r *report) addText(raw json.RawMessage) {
	var c contentChunk
	if !cliagent.DecodeEvent(raw, &c) || c.Content.Text == "" {
		return
	}
	text := c.Content.Text
	if r.startsMessage || c.MessageID != r.message {
		if text = strings.TrimLeft(text, " \t\r\n"); text == "" {
			return
		}
		r.messages++
		r.message, r.startsMessage = c.MessageID, false
		r.lastMessage.Reset()
		r.thought.Reset()
		if before := r.transcript.String(); before != "" {
			r.transcript.Add(strings.Repeat("\n", max(0, 2-len(before)+len(strings.TrimRight(before, "\n")))))
		}
	}
	r.transcript.Add(text)
	r.lastMessage.WriteString(text)
	r.progress(r.lastMessage.String(), "")
}

// showThought shows a thought of the agent as progress; it is not part of the output.
func (r *report) showThought(raw json.RawMessage) {
	var c contentChunk
	if !cliagent.DecodeEvent(raw, &c) {
		return
	}
	r.startsMessage = true
	r.thought.WriteString(c.Content.Text)
	r.progress(r.thought.String(), "")
}

// progress reports the beginning of a text once.
func (r *report) progress(text, tool string) {
	line := cliagent.OneLine(text)
	if line == "" || line == r.lastProgress {
		return
	}
	r.lastProgress = line
	r.x.Progress(sdk.Progress{Message: line, Turn: r.messages, Tool: tool})
}

// endTurn records the model and the usage at the end of a turn.
func (r *report) endTurn(end turnEnd) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.thought.Reset()
	for _, m := range end.Meta.Quota.Models {
		r.model = cmp.Or(m.Model, r.model)
	}
	if r.partial {
		return
	}
	if counted := cmp.Or(end.Usage, end.Meta.Quota.Tokens); counted != nil {
		r.usage = counted.addTo(r.usage)
		r.x.Usage(*r.usageSum())
	}
}

// finish reports the remaining calls. If the agent ended its turn, its open calls count as failed; after an
// interruption they get no result.
func (r *report) finish(ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.order {
		r.observe(t)
		if ended && !t.ended {
			t.status, t.output = "failed", json.RawMessage(`"the agent did not report how the call ended"`)
			r.endTool(t)
		}
	}
	if text := r.transcript.String(); text != "" && !strings.HasSuffix(text, "\n") {
		r.transcript.Add("\n")
	}
}

// output returns the output as described at Execute.
func (r *report) output(purpose sdk.Purpose) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if purpose == sdk.PurposeQuestion {
		return strings.TrimSpace(r.lastMessage.String())
	}
	return r.transcript.String()
}

// isActive reports whether the agent wrote text or used a tool.
func (r *report) isActive() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.transcript.String() != "" || len(r.order) > 0
}

// refusal is a refused request.
type refusal struct {
	tool, reason string
	quiet        bool // the agent does not need the reason
}

// refusalPrompt returns the prompt about the refusals of the last turn, "" for none. An agent that cancelled its turn gets
// all refusals, so that it continues.
func (r *report) refusalPrompt(cancelled bool) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, f := range r.refusals {
		r.deniedNames = append(r.deniedNames, f.tool)
		if cancelled || !f.quiet {
			lines = append(lines, fmt.Sprintf("- %s: %s\n", cliagent.OneLine(f.tool), f.reason))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "Some of your requests for permission were refused:\n\n" + strings.Join(lines, "") +
		"\nDo not repeat these requests. Continue your task without them."
}

// deniedTools returns the tools that were refused in the last turn.
func (r *report) deniedTools() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.deniedNames
}

// totalUsage returns the usage of the attempt, nil if it is unknown.
func (r *report) totalUsage() *sdk.Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.usage == nil && r.cost == nil {
		return nil
	}
	return r.usageSum()
}

// usageSum returns the tokens of all turns with the cost of the session. The caller holds mu.
func (r *report) usageSum() *sdk.Usage {
	u := sdk.Usage{}
	if r.usage != nil {
		u = *r.usage
	}
	u.CostUSD = r.cost
	return &u
}
