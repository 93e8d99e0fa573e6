package claude

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// stream converts the agent's events to reports on the exchange and keeps the data for the result. It belongs to one
// attempt and is not safe for concurrent use.
type stream struct {
	x          sdk.Exchange
	dir        string // the agent's working directory
	events     *cliagent.Events
	transcript cliagent.Transcript // the agent's texts

	sessionID string
	version   string
	initModel string // the model of system/init
	replies   map[string]bool
	tools     int
	denied    map[string]bool // refused calls
	usage     *sdk.Usage
	lastError struct{ word, message string } // the last error, unless the agent continued after it
	retry     *retryEvent                    // the last retry
	limit     *rateLimit                     // the last limit
	final     *resultEvent
}

func newStream(x sdk.Exchange) *stream {
	s := &stream{x: x, transcript: cliagent.Transcript{X: x}, replies: map[string]bool{}, denied: map[string]bool{}}
	s.events = &cliagent.Events{Begins: isFirstEvent, Handle: s.handle, Plain: &cliagent.Transcript{X: x}}
	return s
}

// isFirstEvent reports whether a stream may begin with an event of the type.
func isFirstEvent(kind string) bool {
	return slices.Contains([]string{"system", "assistant", "user", "result", "stream_event", "rate_limit_event"}, kind)
}

// handle processes one event. An unreadable event is ignored; the raw stream has it.
func (s *stream) handle(kind string, raw []byte) (final bool) {
	var e eventHead
	if !cliagent.DecodeEvent(raw, &e) {
		return false
	}
	s.sessionID = cmp.Or(e.SessionID, s.sessionID)
	switch kind {
	case "system":
		s.system(e.Subtype, raw)
	case "assistant":
		s.assistant(raw)
	case "user":
		s.user(raw)
	case "rate_limit_event":
		var e rateLimitEvent
		if cliagent.DecodeEvent(raw, &e) {
			s.limit = &e.Info
		}
	case "result":
		return s.result(raw)
	}
	return false
}

func (s *stream) system(subtype string, raw []byte) {
	switch subtype {
	case "init":
		var e initEvent
		if cliagent.DecodeEvent(raw, &e) {
			s.initModel, s.version = cmp.Or(e.Model, s.initModel), cmp.Or(e.Version, s.version)
		}
	case "permission_denied":
		var e deniedEvent
		if cliagent.DecodeEvent(raw, &e) {
			s.denied[e.ToolUseID] = true
		}
	case "api_retry":
		var e retryEvent
		if cliagent.DecodeEvent(raw, &e) {
			s.retry = &e
			s.progress("the service failed ("+cmp.Or(e.Error, "unknown")+"), trying again", "")
		}
	}
}

func (s *stream) assistant(raw []byte) {
	var e messageEvent
	if !cliagent.DecodeEvent(raw, &e) {
		return
	}
	content := parseBlocks(e.Message.Content)
	switch ofAgent := e.ParentToolUseID == ""; { // the errors of a sub-agent do not count: its agent handles them
	case e.Error != "":
		if ofAgent {
			s.lastError.word, s.lastError.message = e.Error, joinTexts(content)
		}
		return
	case ofAgent:
		s.lastError.word, s.lastError.message = "", ""
	}
	s.reply(e)
	for _, b := range content {
		switch b.Type {
		case "text":
			if e.ParentToolUseID == "" {
				s.transcript.Paragraph(b.Text)
				s.progress(b.Text, "")
			}
		case "tool_use":
			s.tools++
			s.x.Observe(toolCall(b, s.dir, len(s.replies)))
			s.progress(activity(b), b.Name)
		}
	}
}

// reply counts a reply of the model once, although each of its blocks is an event. The input is known from the first
// event, the output only from the result.
func (s *stream) reply(e messageEvent) {
	if s.replies[e.Message.ID] {
		return
	}
	s.replies[e.Message.ID] = true
	if u := e.Message.Usage; u != nil {
		s.usage = addInput(s.usage, *u)
		s.x.Usage(*s.usage)
	}
}

func (s *stream) user(raw []byte) {
	var e messageEvent
	if !cliagent.DecodeEvent(raw, &e) {
		return
	}
	for _, b := range parseBlocks(e.Message.Content) {
		if b.Type != "tool_result" {
			continue
		}
		s.x.ObserveResult(sdk.ToolResult{CallID: b.ToolUseID, Status: s.status(b), Result: b.Content})
	}
}

func (s *stream) status(b block) sdk.ToolStatus {
	switch {
	case s.denied[b.ToolUseID]:
		return sdk.ToolDenied
	case b.IsError:
		return sdk.ToolError
	default:
		return sdk.ToolSuccess
	}
}

func (s *stream) result(raw []byte) (final bool) {
	var e resultEvent
	if !cliagent.DecodeEvent(raw, &e) {
		return false
	}
	s.final = &e
	if u := totalUsage(e); u != nil {
		s.usage = u
		s.x.Usage(*u)
	}
	return true
}

func (s *stream) progress(message, tool string) {
	s.x.Progress(sdk.Progress{Message: cliagent.OneLine(message), Turn: len(s.replies), Tool: tool})
}

// output returns the output as described at Execute.
func (s *stream) output(purpose sdk.Purpose) string {
	switch text := s.transcript.String(); {
	case !s.events.Seen():
		return s.events.Plain.String()
	case s.final != nil && !s.final.IsError && (purpose == sdk.PurposeQuestion || text == ""):
		return s.final.Result
	default:
		return text
	}
}

// model returns the model that answered. It may differ from the requested model, and a second model may do side tasks.
func (s *stream) model() string {
	if s.final == nil || len(s.final.ModelUsage) == 0 {
		return s.initModel
	}
	used := s.final.ModelUsage
	if _, ok := used[s.initModel]; ok {
		return s.initModel
	}
	return slices.MaxFunc(slices.Sorted(maps.Keys(used)), func(a, b string) int {
		return cmp.Or(cmp.Compare(used[a].CostUSD, used[b].CostUSD), cmp.Compare(used[a].OutputTokens, used[b].OutputTokens))
	})
}

// parseBlocks decodes content; a string is one text block.
func parseBlocks(content json.RawMessage) []block {
	var list []block
	if cliagent.DecodeEvent(content, &list); list != nil {
		return list
	}
	var text string
	if cliagent.DecodeEvent(content, &text); text != "" {
		return []block{{Type: "text", Text: text}}
	}
	return nil
}

// joinTexts joins the texts of a message.
func joinTexts(content []block) string {
	var texts []string
	for _, b := range content {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}
