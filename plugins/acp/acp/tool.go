package acp

import (
	"bytes"
	"cmp"
	"encoding/json"
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
	resultReported bool     // the result of the observed call is reported
	ended          bool
}

// toolName returns the tool's name, or its kind if the agent gives no name.
func (t *toolState) toolName() string { return cmp.Or(t.name, string(t.kind), "tool") }

// call returns the call for the exchange. dir is the agent's working directory, for relative paths.
func (t *toolState) call(id, dir string) sdk.ToolCall {
	c := sdk.ToolCall{CallID: id, Tool: t.toolName(), Args: t.args(), Effect: effect(t.kind), Category: categories[t.kind], Reason: t.title}
	names := slices.Clone(t.paths)
	for _, part := range t.content {
		if part.Type == "diff" {
			names = append(names, part.Path)
		}
	}
	c.Paths = cliagent.Paths(dir, append(names, t.inputText("path"), t.inputText("file_path"))...)
	if c.Category == sdk.CategoryTerminal {
		c.Command = cmp.Or(t.inputText("command"), t.title)
	}
	return c
}

// inputText returns a member of the input that is a text or a list of words, "" for any other. Each agent chooses the
// form of its inputs.
func (t *toolState) inputText(name string) string {
	var members map[string]json.RawMessage
	var text string
	var words []string
	_ = json.Unmarshal(t.input, &members) // other inputs than objects have no members
	switch {
	case json.Unmarshal(members[name], &text) == nil:
		return text
	case json.Unmarshal(members[name], &words) == nil:
		return strings.Join(words, " ")
	}
	return ""
}

// args returns the tool's input if it is an object; otherwise the agent's description of the call: its title, files and
// changes.
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

// result returns the tool's output, or else the text that the agent shows.
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

// hasJSON reports whether a value is more than null or an empty object.
func hasJSON(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && string(raw) != "null" && string(raw) != "{}"
}

// categories are the categories of kinds of tools; other kinds have none.
var categories = map[protocol.ToolKind]sdk.Category{
	protocol.ToolKindRead: sdk.CategoryFileRead, protocol.ToolKindSearch: sdk.CategoryFileRead,
	protocol.ToolKindEdit: sdk.CategoryFileWrite, protocol.ToolKindMove: sdk.CategoryFileWrite,
	protocol.ToolKindDelete: sdk.CategoryFileDelete, protocol.ToolKindExecute: sdk.CategoryTerminal,
	protocol.ToolKindFetch: sdk.CategoryExternal,
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
