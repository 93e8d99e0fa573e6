package acp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	protocol "github.com/coder/acp-go-sdk"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// report turns what the agent tells into reports on the exchange, and remembers what the result needs. It
// belongs to one attempt and is safe for concurrent use.
type report struct {
	x       sdk.Exchange
	partial bool   // the agent's usage is not that of the whole turn
	dir     string // where the agent works

	mu       sync.Mutex // guards:
	live     bool       // a turn has begun: what comes before is the past of a session that was taken up
	said     cliagent.Transcript
	message  string // the id of the message that is under way
	fresh    bool   // the next text begins a message
	last     strings.Builder
	thought  strings.Builder
	shown    string // as progress
	messages int
	tools    map[string]*tool
	order    []*tool
	calls    map[string]*tool // gated ones, by the id of the call
	refuse   []refusal        // in this turn
	denied   []string         // tools, in the last turn
	usage    *sdk.Usage
	cost     *float64
	model    string
}

func newReport(x sdk.Exchange, partial bool, dir string) *report {
	return &report{x: x, partial: partial, dir: dir, said: cliagent.Transcript{X: x}, fresh: true, tools: map[string]*tool{}, calls: map[string]*tool{}}
}

// told takes a notification.
func (a *attempt) told(method string, params json.RawMessage) {
	if method == protocol.ClientMethodSessionUpdate {
		a.report.update(params)
	}
}

// begin says that a turn begins.
func (r *report) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.live, r.fresh, r.refuse, r.denied = true, true, nil, nil
}

// update takes one piece of news. What cannot be read is ignored; the raw record keeps it.
func (r *report) update(raw json.RawMessage) {
	var envelope struct {
		Update json.RawMessage `json:"update"`
	}
	var head update
	if !cliagent.DecodeEvent(raw, &envelope) || !cliagent.DecodeEvent(raw, &head) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.live {
		return
	}
	switch body := envelope.Update; head.Update.Kind {
	case "agent_message_chunk":
		r.say(body)
	case "agent_thought_chunk":
		r.think(body)
	case "tool_call", "tool_call_update":
		var u toolUpdate
		if cliagent.DecodeEvent(body, &u) && u.ToolCallID != "" {
			r.fresh = true
			r.tool(u)
		}
	case "usage_update":
		var u usageUpdate
		if cliagent.DecodeEvent(body, &u) && u.Cost != nil && u.Cost.Currency == "USD" {
			r.cost = &u.Cost.Amount // of the session so far
			r.x.Usage(*r.sum())
		}
	}
}

// say adds a piece of a message. Messages stand an empty line apart.
func (r *report) say(raw json.RawMessage) {
	var c chunk
	if !cliagent.DecodeEvent(raw, &c) || c.Content.Text == "" {
		return
	}
	text := c.Content.Text
	if r.fresh || c.MessageID != r.message {
		if text = strings.TrimLeft(text, " \t\r\n"); text == "" {
			return
		}
		r.messages++
		r.message, r.fresh = c.MessageID, false
		r.last.Reset()
		r.thought.Reset()
		if before := r.said.String(); before != "" {
			r.said.Add(strings.Repeat("\n", max(0, 2-len(before)+len(strings.TrimRight(before, "\n")))))
		}
	}
	r.said.Add(text)
	r.last.WriteString(text)
	r.progress(r.last.String(), "")
}

// think shows what the agent thinks, which is no part of its output.
func (r *report) think(raw json.RawMessage) {
	var c chunk
	if !cliagent.DecodeEvent(raw, &c) {
		return
	}
	r.fresh = true
	r.thought.WriteString(c.Content.Text)
	r.progress(r.thought.String(), "")
}

// progress shows the beginning of a text, once.
func (r *report) progress(text, tool string) {
	line := cliagent.OneLine(text)
	if line == "" || line == r.shown {
		return
	}
	r.shown = line
	r.x.Progress(sdk.Progress{Message: line, Turn: r.messages, Tool: tool})
}

// turned takes the end of a turn.
func (r *report) turned(end turnEnd) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.thought.Reset()
	for _, m := range end.Meta.Quota.Models {
		r.model = cmp.Or(m.Model, r.model)
	}
	if r.partial {
		return
	}
	counted := end.Usage
	if counted == nil {
		counted = end.Meta.Quota.Tokens
	}
	if counted != nil {
		r.usage = counted.addTo(r.usage)
		r.x.Usage(*r.sum())
	}
}

// finish tells what is left to tell. Where the agent ended its turn, a call that it does not speak of any more
// is over; where it was cut off, such a call was cut off with it.
func (r *report) finish(ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.order {
		r.observe(t)
		if ended && !t.ended {
			t.status, t.output = "failed", json.RawMessage(`"the agent did not say how it ended"`)
			r.end(t)
		}
	}
	if text := r.said.String(); text != "" && !strings.HasSuffix(text, "\n") {
		r.said.Add("\n")
	}
}

// output is described at Execute.
func (r *report) output(purpose sdk.Purpose) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if purpose == sdk.PurposeQuestion {
		return strings.TrimSpace(r.last.String())
	}
	return r.said.String()
}

// did reports whether the agent said something or used a tool.
func (r *report) did() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.String() != "" || len(r.order) > 0
}

// refusal is a request that was refused.
type refusal struct {
	tool, reason string
	quiet        bool // the agent need not be told why
}

// refusals is what the agent is to be told about what it was refused in its last turn, "" for nothing. One
// whose turn that has cancelled is told in any case, so that it goes on.
func (r *report) refusals(cancelled bool) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var lines []string
	for _, f := range r.refuse {
		r.denied = append(r.denied, f.tool)
		if cancelled || !f.quiet {
			lines = append(lines, fmt.Sprintf("- %s: %s\n", cliagent.OneLine(f.tool), f.reason))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "Not all was allowed that you asked permission for:\n\n" + strings.Join(lines, "") +
		"\nDo not try the same again. Go on with your task in the light of this."
}

// deniedTools are the tools that were refused in the last turn.
func (r *report) deniedTools() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.denied
}
