package acp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	protocol "github.com/coder/acp-go-sdk"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// toolState is the state of one tool call of the agent.
type toolState struct {
	id, name, title string
	kind            protocol.ToolKind
	status          string
	input, output   json.RawMessage
	content         []toolContent
	paths           []string

	requests       int      // number of requests for permission
	pendingIDs     []string // ids of allowed gated calls without a result
	refused        bool     // the last request was refused
	observed       bool     // reported as a call without a request
	resultReported bool     // and its result is reported
	ended          bool
}

// updateTool applies an update of a call. The caller holds mu, as for all methods here.
func (r *report) updateTool(u toolUpdate) {
	t := r.mergeUpdate(u)
	r.progress(t.title, t.toolName())
	if t.status == "completed" || t.status == "failed" {
		r.observe(t)
		r.endTool(t)
	}
}

// mergeUpdate adds an update to the state; missing fields stay.
func (r *report) mergeUpdate(u toolUpdate) *toolState {
	t := r.tools[u.ToolCallID]
	if t == nil {
		t = &toolState{id: u.ToolCallID}
		r.tools[t.id] = t
		r.order = append(r.order, t)
	}
	t.name = cmp.Or(u.Name, u.Meta.ClaudeCode.ToolName, t.name)
	t.title = cmp.Or(u.Title, t.title)
	t.kind = cmp.Or(u.Kind, t.kind)
	t.status = cmp.Or(u.Status, t.status)
	if hasJSON(u.RawInput) {
		t.input = u.RawInput
	}
	if hasJSON(u.RawOutput) {
		t.output = u.RawOutput
	}
	if len(u.Content) > 0 {
		t.content = u.Content
	}
	if len(u.Locations) > 0 {
		t.paths = nil
		for _, l := range u.Locations {
			t.paths = append(t.paths, l.Path)
		}
	}
	return t
}

// hasJSON reports whether a value is more than null or an empty object.
func hasJSON(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && string(raw) != "null" && string(raw) != "{}"
}

// observe reports a call that the agent makes without a request. The call's arguments are then complete.
func (r *report) observe(t *toolState) {
	if t.requests > 0 || t.observed {
		return
	}
	t.observed = true
	r.x.Observe(t.call(t.id, r.dir))
}

// endTool reports the result of a call once.
func (r *report) endTool(t *toolState) {
	if t.ended {
		return
	}
	t.ended = true
	status := sdk.ToolSuccess
	switch {
	case t.refused:
		status = sdk.ToolDenied
	case t.status == "failed":
		status = sdk.ToolError
	}
	result := sdk.ToolResult{CallID: t.id, Status: status, Result: t.result()}
	if t.observed && !t.resultReported {
		t.resultReported = true
		r.x.ObserveResult(result)
	}
	for _, id := range t.pendingIDs {
		result.CallID = id
		r.x.Result(result)
	}
	t.pendingIDs = nil
}

// prepareCall returns the call of a request for permission. Each request about the same call is a gated call of its own.
func (r *report) prepareCall(u toolUpdate, gated bool) sdk.ToolCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.mergeUpdate(u)
	r.startsMessage = true
	id := t.id
	if gated {
		if t.requests++; t.requests > 1 || t.observed {
			id = fmt.Sprintf("%s#%d", t.id, t.requests)
		}
	}
	r.calls[id] = t
	t.refused, t.ended = false, false
	r.progress(t.title, t.toolName())
	return t.call(id, r.dir)
}

// recordAllowed records a granted request.
func (r *report) recordAllowed(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.calls[id]; t != nil {
		t.pendingIDs = append(t.pendingIDs, id)
	}
}

func (r *report) recordRefusal(id string, why refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.calls[id]; t != nil {
		t.refused = true
	}
	r.refusals = append(r.refusals, why)
}

// callTitle returns a readable title of the call.
func (r *report) callTitle(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.calls[id]
	if t == nil {
		return id
	}
	return cmp.Or(t.title, t.toolName())
}

// toolName returns the tool's name, or its kind if the agent gives no name.
func (t *toolState) toolName() string { return cmp.Or(t.name, string(t.kind), "tool") }

// call returns the call for the exchange. dir is the agent's working directory, for relative paths.
func (t *toolState) call(id, dir string) sdk.ToolCall {
	c := sdk.ToolCall{CallID: id, Tool: t.toolName(), Args: t.args(), Effect: effect(t.kind), Category: categories[t.kind], Reason: t.title}
	names := t.paths
	for _, part := range t.content {
		if part.Type == "diff" {
			names = append(slices.Clone(names), part.Path)
		}
	}
	in := t.inputFields()
	c.Paths = cliagent.Paths(dir, append(slices.Clone(names), in.Path, in.FilePath)...)
	if c.Category == sdk.CategoryTerminal {
		c.Command = cmp.Or(in.Command, t.title)
	}
	return c
}

// categories are the categories of kinds of tools; other kinds have none.
var categories = map[protocol.ToolKind]sdk.Category{
	protocol.ToolKindRead: sdk.CategoryFileRead, protocol.ToolKindSearch: sdk.CategoryFileRead,
	protocol.ToolKindEdit: sdk.CategoryFileWrite, protocol.ToolKindMove: sdk.CategoryFileWrite,
	protocol.ToolKindDelete: sdk.CategoryFileDelete, protocol.ToolKindExecute: sdk.CategoryTerminal,
	protocol.ToolKindFetch: sdk.CategoryExternal,
}

// toolInput has the members of a tool's input that name a file or a command.
type toolInput struct {
	Path     string
	FilePath string
	Command  string
}

// inputFields decodes the input, whose form is the agent's own. Members of other types are ignored.
func (t *toolState) inputFields() toolInput {
	var members map[string]json.RawMessage
	var in toolInput
	if json.Unmarshal(t.input, &members) != nil {
		return in
	}
	for name, to := range map[string]*string{"path": &in.Path, "file_path": &in.FilePath, "command": &in.Command} {
		var text string
		var words []string
		switch {
		case json.Unmarshal(members[name], &text) == nil:
			*to = text
		case json.Unmarshal(members[name], &words) == nil:
			*to = strings.Join(words, " ")
		}
	}
	return in
}

// args returns the tool's input if it is an object; otherwise the agent's description of the call: its title, the files,
// the changes.
func (t *toolState) args() json.RawMessage {
	if input := bytes.TrimSpace(t.input); len(input) > 0 && input[0] == '{' {
		return input
	}
	type diff struct {
		Path string  `json:"path"`
		Old  *string `json:"old,omitempty"`
		New  string  `json:"new"`
	}
	about := struct {
		Title string          `json:"title,omitempty"`
		Input json.RawMessage `json:"input,omitempty"`
		Paths []string        `json:"paths,omitempty"`
		Diff  []diff          `json:"diff,omitempty"`
		Text  string          `json:"text,omitempty"`
	}{Title: t.title, Input: t.input, Paths: t.paths, Text: t.text()}
	for _, c := range t.content {
		if c.Type == "diff" {
			about.Diff = append(about.Diff, diff{c.Path, c.OldText, c.NewText})
		}
	}
	raw, err := json.Marshal(about)
	if err != nil {
		return nil
	}
	return raw
}

// result returns the tool's output, or else the text that the agent shows of it.
func (t *toolState) result() json.RawMessage {
	if hasJSON(t.output) {
		return t.output
	}
	text := t.text()
	if text == "" {
		return nil
	}
	raw, err := json.Marshal(text)
	if err != nil {
		return nil
	}
	return raw
}

func (t *toolState) text() string {
	var texts []string
	for _, c := range t.content {
		if c.Type == "content" && c.Content.Text != "" {
			texts = append(texts, c.Content.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// effect returns the effect of a kind of tool. Unknown kinds have the effect with the strictest handling.
func effect(kind protocol.ToolKind) sdk.Effect {
	switch kind {
	case protocol.ToolKindRead, protocol.ToolKindSearch, protocol.ToolKindThink, protocol.ToolKindFetch:
		return sdk.EffectNone
	default:
		return sdk.EffectOnce
	}
}
