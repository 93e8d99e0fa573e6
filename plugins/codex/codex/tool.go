package codex

import (
	"encoding/json"
	"path/filepath"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// toolCall returns the call of an item and its summary; ok is false if the item is not a known tool call. The tool's
// name is the item's type, or server/tool for MCP.
func toolCall(it item, dir string) (call sdk.ToolCall, about string, ok bool) {
	call = sdk.ToolCall{CallID: it.ID, Tool: it.Type, Effect: sdk.EffectOnce}
	switch it.Type {
	case "command_execution":
		call.Args, about = encodeObject(map[string]any{"command": it.Command}), it.Command
		call.Category, call.Command = sdk.CategoryTerminal, it.Command
	case "file_change":
		call.Args, about = encodeObject(map[string]any{"changes": it.Changes}), "edit "+changedName(it.Changes)
		call.Category, call.Paths = sdk.CategoryFileWrite, cliagent.Paths(dir, changedFiles(it.Changes)...)
	case "mcp_tool_call":
		call.Tool = it.Server + "/" + it.Tool
		call.Args, about = it.Args, call.Tool
	case "web_search":
		call.Effect, call.Category = sdk.EffectNone, sdk.CategoryExternal
		call.Args, about = encodeObject(map[string]any{"query": it.Query}), "search "+it.Query
	default:
		return sdk.ToolCall{}, "", false
	}
	return call, about, true
}

// toolResult returns the result of a call.
func toolResult(it item) sdk.ToolResult {
	r := sdk.ToolResult{CallID: it.ID, Status: sdk.ToolSuccess}
	switch it.Status {
	case "failed":
		r.Status = sdk.ToolError
	case "declined":
		r.Status = sdk.ToolDenied
	}
	switch it.Type {
	case "command_execution":
		r.Result = encodeObject(map[string]any{"exit_code": it.Exit, "output": it.Output})
	case "mcp_tool_call":
		r.Result = it.Result
	}
	return r
}

// changedName returns the name of the changed file, or of the first of several.
func changedName(changes json.RawMessage) string {
	list := changedFiles(changes)
	if len(list) == 0 {
		return "files"
	}
	file := filepath.Base(list[0])
	if len(list) > 1 {
		return file + " and others"
	}
	return file
}

// changedFiles returns the paths of a change.
func changedFiles(changes json.RawMessage) []string {
	var list []struct {
		Path string `json:"path"`
	}
	if !cliagent.DecodeEvent(changes, &list) {
		return nil
	}
	paths := make([]string, len(list))
	for i, change := range list {
		paths[i] = change.Path
	}
	return paths
}

// encodeObject encodes values that were decoded from JSON, which cannot fail.
func encodeObject(fields map[string]any) json.RawMessage {
	text, err := json.Marshal(fields)
	if err != nil {
		return nil
	}
	return text
}
