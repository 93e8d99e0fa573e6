package screen

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// maxTool bounds the subject of a call in a line, in bytes.
const maxTool = 200

// toolCalled reports a tool call with its subject, and the reason for a refusal.
func toolCalled(_ place, d event.ToolCallData) []string {
	line := "    [tool:" + d.Tool + "]"
	if about := oneLine(cmp.Or(d.Command, strings.Join(d.Paths, ", "))); about != "" {
		line += " " + about
	}
	if d.Verdict != "deny" && d.Verdict != "skip" {
		return []string{line}
	}
	return []string{line, strings.TrimRight(fmt.Sprintf("    [%s] %s", d.Verdict, oneLine(d.Reason)), " ")}
}

// toolEnded reports the end of a call, unless it was refused.
func toolEnded(_ place, d event.ToolResultData) []string {
	if d.Status == "denied" && !d.Observed {
		return nil
	}
	mark, text := "result", d.Status
	if d.Status != "success" {
		mark = "error"
	}
	var result struct {
		Error struct{ Code, Message string }
	}
	if json.Unmarshal(d.Result, &result) == nil && result.Error.Message != "" {
		text = strings.TrimSpace(result.Error.Code + " " + result.Error.Message)
	}
	if d.DurationMS > 0 {
		text += fmt.Sprintf(" (%s)", time.Duration(d.DurationMS)*time.Millisecond)
	}
	return []string{fmt.Sprintf("    [%s] %s: %s", mark, cmp.Or(d.Tool, d.CallID), oneLine(text))}
}

func oneLine(text string) string {
	return event.Truncate(strings.Join(strings.Fields(text), " "), maxTool)
}
