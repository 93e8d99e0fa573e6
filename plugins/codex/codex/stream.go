package codex

import (
	"cmp"
	"slices"
	"sync/atomic"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// stream converts the agent's events to reports on the exchange and keeps the data for the result. It belongs to one
// attempt and is not safe for concurrent use.
type stream struct {
	x          sdk.Exchange
	dir        string // the agent's working directory
	events     *cliagent.Events
	transcript cliagent.Transcript // the agent's messages

	price       *sdk.Price   // of the model's tokens; nil if unknown
	running     atomic.Int32 // number of running tool calls
	threadID    string
	lastMessage string          // the last message
	calls       map[string]bool // reported calls by item id; true while the tool runs
	usage       *sdk.Usage
	completed   bool   // turn.completed arrived
	failed      bool   // turn.failed arrived
	lastError   string // the message of turn.failed, else of the last error without a later message
}

func newStream(x sdk.Exchange) *stream {
	s := &stream{x: x, transcript: cliagent.Transcript{X: x}, calls: map[string]bool{}}
	s.events = &cliagent.Events{Begins: isFirstEvent, Handle: s.handle, Plain: &cliagent.Transcript{X: x}}
	return s
}

// isFirstEvent reports whether a stream may begin with an event of the type.
func isFirstEvent(kind string) bool {
	return slices.Contains([]string{
		"thread.started", "turn.started", "turn.completed", "turn.failed",
		"item.started", "item.updated", "item.completed",
	}, kind)
}

// handle processes one event. An unreadable event is ignored; the raw stream has it.
func (s *stream) handle(kind string, raw []byte) (final bool) {
	var e event
	if !cliagent.DecodeEvent(raw, &e) {
		return false
	}
	switch kind {
	case "thread.started":
		s.threadID = e.ThreadID
	case "item.started", "item.updated":
		s.beginCall(e.Item)
	case "item.completed":
		s.endItem(e.Item)
	case "error":
		s.lastError = pickMessage(s.lastError, e.Message)
		s.progress(e.Message, "")
	case "turn.completed":
		s.completed = true
		if e.Usage != nil {
			s.usage = newUsage(*e.Usage)
			if s.price != nil {
				s.usage.CostUSD = s.price.Cost(*s.usage)
			}
			s.x.Usage(*s.usage)
		}
		return true
	case "turn.failed":
		s.failed, s.lastError = true, cmp.Or(e.Error.Message, s.lastError)
		return true
	}
	return false
}

// beginCall reports a tool call once. An item may be completed without a started event.
func (s *stream) beginCall(it item) {
	call, about, ok := toolCall(it, s.dir)
	if _, known := s.calls[it.ID]; !ok || known {
		return
	}
	s.calls[it.ID] = true
	s.running.Add(1)
	s.x.Observe(call)
	s.progress(about, call.Tool)
}

func (s *stream) endItem(it item) {
	switch it.Type {
	case "agent_message":
		s.lastMessage, s.lastError = it.Text, "" // the agent continued: the error is resolved
		s.transcript.Paragraph(it.Text)
		s.progress(it.Text, "")
	case "reasoning":
		s.progress(it.Text, "")
	case "error":
		s.progress(it.Message, "")
	}
	s.beginCall(it)
	if s.calls[it.ID] {
		s.calls[it.ID] = false
		s.running.Add(-1)
		s.x.ObserveResult(toolResult(it))
	}
}

// busy reports whether a tool is running. It may be called from any goroutine.
func (s *stream) busy() bool { return s.running.Load() > 0 }

func (s *stream) progress(message, tool string) {
	s.x.Progress(sdk.Progress{Message: cliagent.OneLine(message), Tool: tool})
}

// output returns the output as described at Execute.
func (s *stream) output(purpose sdk.Purpose) string {
	switch {
	case !s.events.Seen():
		return s.events.Plain.String()
	case purpose == sdk.PurposeQuestion && s.completed:
		return s.lastMessage
	default:
		return s.transcript.String()
	}
}

// newUsage returns a usage with cached tokens subtracted from the input.
func newUsage(u usage) *sdk.Usage {
	t := &sdk.Usage{
		OutputTokens: u.Output, CacheReadTokens: u.CacheRead, CacheWriteTokens: u.CacheWrite, ReasoningTokens: u.Reasoning,
	}
	if u.Input != nil {
		fresh := *u.Input
		for _, cached := range []*int64{u.CacheRead, u.CacheWrite} {
			if cached != nil {
				fresh -= *cached
			}
		}
		fresh = max(fresh, 0)
		t.InputTokens = &fresh
	}
	return t
}
