package screen

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Details returns an event as one line of a log, without its time: the type, its position as node=, run=, iter=, of-run=
// (the run of the whole pipeline), and the main members of its data as key=value.
func Details(e event.Event) string {
	parts := []string{string(e.Type)}
	if c := e.Cursor; c != nil {
		parts = append(parts, "node="+c.NodePath)
		if c.NodeRun > 0 {
			parts = append(parts, fmt.Sprintf("run=%d", c.NodeRun))
		}
		if c.Iteration > 0 {
			parts = append(parts, fmt.Sprintf("iter=%d", c.Iteration))
		}
		if c.Run > 0 {
			parts = append(parts, fmt.Sprintf("of-run=%d", c.Run))
		}
	}
	var data map[string]any
	if json.Unmarshal(e.Data, &data) == nil {
		if e.Type == event.QuestionAsked || e.Type == event.QuestionAnswered {
			data["question"] = data["id"]
		}
		if e.Type == event.CheckResult {
			data["check"] = data["id"]
		}
		parts = append(append(parts, progressDetails(data)...), textDetails(data)...)
	}
	return Clean(strings.Join(parts, " "))
}

// detailKeys are the keys of an event's data in a line, in this order.
var detailKeys = []string{
	"provider", "model", "point", "action", "step", "title", "check", "edge", "question", "kind", "tool", "status", "decision", "answer", "by", "error_type", "reason", "message", "text",
}

// progressDetails returns the positions of steps and cycles: "n=2/5", "cycle=1/3".
func progressDetails(data map[string]any) []string {
	var parts []string
	for _, pair := range [][3]string{{"n", "n", "of"}, {"cycle", "count", "limit"}} {
		n, one := data[pair[1]].(float64)
		limit, two := data[pair[2]].(float64)
		if one && two {
			parts = append(parts, fmt.Sprintf("%s=%v/%v", pair[0], n, limit))
		}
	}
	return parts
}

func textDetails(data map[string]any) []string {
	var parts []string
	for _, key := range detailKeys {
		text, ok := data[key].(string)
		if !ok || text == "" {
			continue
		}
		if strings.ContainsAny(text, " \t\n\"") {
			text = fmt.Sprintf("%q", text)
		}
		parts = append(parts, key+"="+text)
	}
	return parts
}
