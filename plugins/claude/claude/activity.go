package claude

import (
	"encoding/json"
	"path/filepath"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// toolEffect returns the effect of a tool of Claude Code. Unknown tools have the effect with the strictest handling.
func toolEffect(tool string) sdk.Effect {
	switch tool {
	case "Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch", "TodoWrite", "ToolSearch", "BashOutput":
		return sdk.EffectNone
	case "Write":
		return sdk.EffectIdempotent
	default:
		return sdk.EffectOnce
	}
}

// categories are the categories of the known tools.
var categories = map[string]sdk.Category{
	"Read": sdk.CategoryFileRead, "Glob": sdk.CategoryFileRead, "Grep": sdk.CategoryFileRead, "LS": sdk.CategoryFileRead,
	"NotebookRead": sdk.CategoryFileRead, "Write": sdk.CategoryFileWrite, "Edit": sdk.CategoryFileWrite,
	"MultiEdit": sdk.CategoryFileWrite, "NotebookEdit": sdk.CategoryFileWrite, "Bash": sdk.CategoryTerminal,
	"WebFetch": sdk.CategoryExternal, "WebSearch": sdk.CategoryExternal,
}

// toolCall returns the call in a content block. dir is the agent's working directory, for relative paths.
func toolCall(b block, dir string, turn int) sdk.ToolCall {
	c := sdk.ToolCall{CallID: b.ID, Tool: b.Name, Args: b.Input, Effect: toolEffect(b.Name), Category: categories[b.Name], Turn: turn}
	var in struct {
		FilePath     string `json:"file_path"`
		NotebookPath string `json:"notebook_path"`
		Path         string `json:"path"`
		Command      string `json:"command"`
	}
	if c.Category == "" || json.Unmarshal(b.Input, &in) != nil {
		return c
	}
	c.Paths = cliagent.Paths(dir, in.FilePath, in.NotebookPath, in.Path)
	if c.Category == sdk.CategoryTerminal {
		c.Command = in.Command
	}
	return c
}

// activity summarizes a tool call: "Write main.go", "Bash go test ./...".
func activity(b block) string {
	var in struct {
		FilePath    string `json:"file_path"`
		Command     string `json:"command"`
		Pattern     string `json:"pattern"`
		Description string `json:"description"`
		URL         string `json:"url"`
		Query       string `json:"query"`
	}
	if json.Unmarshal(b.Input, &in) != nil {
		return b.Name
	}
	if in.FilePath != "" {
		return b.Name + " " + filepath.Base(in.FilePath)
	}
	for _, about := range []string{in.Command, in.Pattern, in.URL, in.Query, in.Description} {
		if about != "" {
			return b.Name + " " + about
		}
	}
	return b.Name
}
