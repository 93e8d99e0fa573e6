package agent

import (
	"context"
	"encoding/json"
	"errors"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/loop"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/tool"
)

// toolset adapts a tool.Set to [loop.Tools].
type toolset struct{ set *tool.Set }

// Definitions implements [loop.Tools].
func (t toolset) Definitions() []model.Tool {
	var all []model.Tool
	for _, d := range t.set.Definitions() {
		all = append(all, model.Tool{Name: d.Name, Description: d.Description, Parameters: d.Parameters})
	}
	return all
}

// Keep implements [loop.Tools].
func (t toolset) Keep(keys []string) { t.set.Keep(keys) }

// Prepare implements [loop.Tools].
func (t toolset) Prepare(name string, args json.RawMessage, again bool) (loop.PreparedCall, *loop.Refusal) {
	p, err := t.set.Prepare(name, args, again)
	if err != nil {
		var r *tool.Refusal
		if !errors.As(err, &r) {
			r = &tool.Refusal{Status: sdk.ToolError, Code: tool.CodeFailed, Message: err.Error()}
		}
		return loop.PreparedCall{}, &loop.Refusal{Status: r.Status, Code: r.Code, Message: r.Message}
	}
	return loop.PreparedCall{
		Call: p.ToolCall,
		Run: func(ctx context.Context) loop.CallResult {
			r := p.Run(ctx)
			return loop.CallResult{Status: r.Status, Data: r.Data, Changed: r.Changed, Key: r.Key}
		},
	}, nil
}
