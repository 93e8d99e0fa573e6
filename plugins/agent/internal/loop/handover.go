package loop

import (
	"encoding/json"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// handoverTool returns the name of the tool that takes the artifact, "" if the request names none or one that exists: the
// kernel reads the arguments of an existing tool.
func handoverTool(r sdk.ExecuteRequest, tools []model.Tool) string {
	exists := func(t model.Tool) bool { return t.Name == r.ArtifactTool }
	if r.StepID != "" || r.ArtifactTool == finishTool || slices.ContainsFunc(tools, exists) {
		return ""
	}
	return r.ArtifactTool
}

// handoverDefinition returns the tool with the artifact's schema as its parameters.
func (f *finish) handoverDefinition(schema json.RawMessage) model.Tool {
	t := model.Tool{
		Name: f.handover, Parameters: schema,
		Description: "Hands over the artifact of this stage: its fields are the arguments. Call it before finish; what you hand over last counts.",
	}
	var object map[string]any
	if json.Unmarshal(schema, &object) != nil || object["type"] != "object" { // services require an object
		t.Parameters = json.RawMessage(`{"type":"object"}`)
		if len(schema) > 0 {
			t.Description += " They have to fit this JSON Schema: " + string(schema)
		}
	}
	return t
}

// handOver answers the i-th call of a turn, which hands over the artifact. A faulty artifact is sent back with its faults.
// The kernel gets both, and uses the arguments of the last successful call. The call has no effect and needs no verdict.
func (l *loop) handOver(t *turn, i int) {
	call := t.Reply.Calls[i]
	wrong := call.Malformed
	if wrong == "" && l.finish.artifactSchema != nil {
		wrong = schemaFaults(l.finish.artifactSchema, call.Args)
	}
	if wrong != "" {
		l.refuse(t, i, Refusal{sdk.ToolError, codeArgs, "the artifact is not accepted:\n" + wrong})
		return
	}
	id, kept := callID(t, i), json.RawMessage(`{"taken":true}`)
	l.Exchange.Observe(sdk.ToolCall{CallID: id, Tool: call.Name, Args: call.Args, Effect: sdk.EffectNone, Turn: t.N})
	l.Exchange.ObserveResult(sdk.ToolResult{CallID: id, Status: sdk.ToolSuccess, Result: kept})
	l.conversation.Artifact = call.Args
	l.conversation.recordSuccess(call.Name)
	m := callRecord{Done: true, Status: sdk.ToolSuccess, Text: string(kept), HasSecret: t.Results[i].HasSecret}
	m.Summary = summarize(call, m)
	t.Results[i] = m
}
