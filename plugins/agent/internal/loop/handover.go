package loop

import (
	"encoding/json"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// handoverTool is the name of the tool by whose arguments the artifact is handed over, "" where the request names none,
// or one that there is already: the kernel takes the arguments of that one.
func handoverTool(r sdk.ExecuteRequest, tools []model.Tool) string {
	taken := func(t model.Tool) bool { return t.Name == r.ArtifactTool }
	if r.StepID != "" || r.ArtifactTool == finishTool || slices.ContainsFunc(tools, taken) {
		return ""
	}
	return r.ArtifactTool
}

// handoverDefinition is the tool, with the artifact's schema for its parameters.
func (f *finish) handoverDefinition(schema json.RawMessage) model.Tool {
	t := model.Tool{
		Name: f.tool, Parameters: schema,
		Description: "Hands over the artifact of this stage: its fields are the arguments. Call it before finish; what you hand over last counts.",
	}
	var object map[string]any
	if json.Unmarshal(schema, &object) != nil || object["type"] != "object" { // services want that word
		t.Parameters = json.RawMessage(`{"type":"object"}`)
		if len(schema) > 0 {
			t.Description += " They have to fit this JSON Schema: " + string(schema)
		}
	}
	return t
}

// handOver answers the i-th call of a turn, which hands the artifact over: what has faults is sent back with them, and
// the kernel, which takes the arguments of the last call that succeeded, is told of either. It changes nothing in the
// world, so that nobody is asked.
func (l *loop) handOver(t *turn, i int) {
	call := t.Reply.Calls[i]
	wrong := call.Malformed
	if wrong == "" && l.finish.artifact != nil {
		wrong = faults(l.finish.artifact, call.Args)
	}
	if wrong != "" {
		l.refuse(t, i, Refusal{sdk.ToolError, codeArgs, "the artifact is not taken:\n" + wrong})
		return
	}
	id, kept := callID(t, i), json.RawMessage(`{"taken":true}`)
	l.Exchange.Observe(sdk.ToolCall{CallID: id, Tool: call.Name, Args: call.Args, Effect: sdk.EffectNone, Turn: t.N})
	l.Exchange.ObserveResult(sdk.ToolResult{CallID: id, Status: sdk.ToolSuccess, Result: kept})
	l.talk.Artifact = call.Args
	l.talk.did(call.Name)
	m := made{Done: true, Status: sdk.ToolSuccess, Text: string(kept), Tainted: t.Made[i].Tainted}
	m.Brief = brief(call, m)
	t.Made[i] = m
}
