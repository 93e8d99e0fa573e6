package approval

import (
	"cmp"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Levels of the harm that a call can do.
const (
	RiskLow    = "low"
	RiskMedium = "medium"
	RiskHigh   = "high"
)

// Risk returns the level of harm that a call can do. The call's category decides, or its effect if the category is
// unknown.
func Risk(c sdk.ToolCall) string {
	switch c.Category {
	case sdk.CategoryFileRead, sdk.CategoryDirectoryCreate:
		return RiskLow
	case sdk.CategoryFileWrite, sdk.CategoryFileDelete:
		return RiskMedium
	case sdk.CategoryTerminal, sdk.CategoryExternal:
		return RiskHigh
	}
	switch c.Effect {
	case sdk.EffectNone:
		return RiskLow
	case sdk.EffectIdempotent:
		return RiskMedium
	default:
		return RiskHigh
	}
}

// Ask returns the question whether a call may be made, in one line.
func Ask(c sdk.ToolCall) string {
	text := "the agent wants to run " + event.Truncate(c.Tool, event.MaxName)
	about := cmp.Or(c.Command, strings.Join(c.Paths, ", "))
	if about = strings.Join(strings.Fields(about), " "); about == "" {
		return text
	}
	return text + ": " + event.Truncate(about, event.MaxName)
}
