package claude

import (
	"encoding/json"
	"path/filepath"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// effect is what a tool of Claude Code does to the world; the careful assumption where it is unknown.
func effect(tool string) sdk.Effect {
	switch tool {
	case "Read", "Glob", "Grep", "LS", "NotebookRead", "WebFetch", "WebSearch", "TodoWrite", "ToolSearch", "BashOutput":
		return sdk.EffectNone
	case "Write":
		return sdk.EffectIdempotent
	default:
		return sdk.EffectOnce
	}
}

// activity says in a few words what a tool call is about: "Write main.go", "Bash go test ./...".
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
