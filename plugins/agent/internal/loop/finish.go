package loop

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// finishTool ends the attempt.
const finishTool = "finish"

// What a claim says of the work.
const (
	outcomeSuccess  = "success"
	outcomeFail     = "fail"
	outcomeEscalate = "escalate"
)

// claim is what the model says when it calls finish.
type claim struct {
	Outcome  string          `json:"outcome"`
	Summary  string          `json:"summary"`
	Evidence string          `json:"evidence,omitempty"`
	Feedback string          `json:"feedback,omitempty"`
	Question string          `json:"question,omitempty"`
	Artifact json.RawMessage `json:"artifact,omitempty"`
	Files    []string        `json:"files,omitempty"`
}

// finish is the tool as one attempt has it.
type finish struct {
	parameters json.RawMessage
	schema     *jsonschema.Schema
	// wanted: the attempt has to make an artifact; artifact is its schema, nil for any.
	wanted   bool
	artifact *jsonschema.Schema
	// tool is the tool that hands the artifact over, "" where finish takes it.
	tool string
}

// newFinish makes the tool for a request: it takes an artifact where one is wanted, unless another tool does.
func newFinish(r sdk.ExecuteRequest, tool string) (*finish, error) {
	f := &finish{tool: tool, wanted: len(r.ArtifactSchema) > 0 || r.Paths.Artifact != "" && r.StepID == ""}
	text := func(about string) map[string]any { return map[string]any{"type": "string", "description": about} }
	properties := map[string]any{
		"outcome": map[string]any{
			"type": "string", "enum": []string{outcomeSuccess, outcomeFail, outcomeEscalate},
			"description": "success: the work is done. fail: it cannot be done. escalate: a person has to decide something first.",
		},
		"summary":  map[string]any{"type": "string", "minLength": 1, "description": "What was done, or why it cannot be done, in a few sentences."},
		"evidence": text("How you know that it works: what you ran and what it said."),
		"feedback": text("For fail: what whoever works on this next should know."),
		"question": text("For escalate: the question to the person."),
		"files":    map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "description": "Files that matter for the result."},
	}
	if f.wanted && tool == "" {
		properties["artifact"] = artifactParameter(r.ArtifactSchema)
	}
	var err error
	f.parameters, err = json.Marshal(map[string]any{"type": "object", "properties": properties, "required": []string{"outcome", "summary"}, "additionalProperties": false})
	if err == nil {
		f.schema, err = compile(withoutArtifact(properties))
	}
	if err == nil && len(r.ArtifactSchema) > 0 {
		f.artifact, err = compile(r.ArtifactSchema)
	}
	if err != nil {
		return nil, failure.New(failure.ConfigInvalid, "the schema of the artifact: %w", err)
	}
	return f, nil
}

// artifactParameter is the artifact's own schema where it can stand inside another one.
func artifactParameter(schema json.RawMessage) any {
	var object map[string]any
	if json.Unmarshal(schema, &object) != nil || strings.Contains(string(schema), `"$`) { // references are from the root
		return map[string]any{"type": "object", "description": "What this stage is to make. It has to fit this JSON Schema: " + string(schema)}
	}
	return object
}

// withoutArtifact is the schema of what is looked at first: the artifact has faults of its own to tell.
func withoutArtifact(properties map[string]any) json.RawMessage {
	plain := map[string]any{}
	for name, p := range properties {
		plain[name] = p
	}
	if _, wanted := plain["artifact"]; wanted {
		plain["artifact"] = true
	}
	raw, err := json.Marshal(map[string]any{"type": "object", "properties": plain, "required": []string{"outcome", "summary"}, "additionalProperties": false})
	if err != nil { // maps of texts can always be encoded
		panic(err)
	}
	return raw
}

func (f *finish) definition() model.Tool {
	return model.Tool{
		Name: finishTool, Parameters: f.parameters,
		Description: "Ends your work. Call it once, alone, when the task is done, cannot be done, or needs a person.",
	}
}

// finished looks at the call of finish in a turn whose other calls are made. A claim that does not hold is sent back.
func (l *loop) finished(ctx context.Context, t *turn) (*claim, error) {
	var end *claim
	for i, call := range t.Reply.Calls {
		if call.Name != finishTool || t.Made[i].Done {
			continue
		}
		if end != nil {
			l.sendBack(t, i, "finish was called twice in one reply")
			continue
		}
		c, wrong := l.read(call)
		if t.Made[i].Tainted && l.resumed(t) {
			wrong = "the run was interrupted, and the arguments held a secret that is not kept over that; call finish again, without it if you can"
		}
		if wrong == "" && c.Outcome == outcomeSuccess {
			var err error
			if wrong, err = l.early(ctx, t, c); err != nil {
				return nil, err
			}
		}
		if wrong != "" {
			l.sendBack(t, i, wrong)
			continue
		}
		end = &c
	}
	return end, nil
}

// read checks the arguments.
func (l *loop) read(call model.Call) (claim, string) {
	if call.Malformed != "" {
		return claim{}, "the arguments are no JSON object: " + call.Malformed
	}
	if wrong := faults(l.finish.schema, call.Args); wrong != "" {
		return claim{}, "the arguments of finish are wrong: " + wrong
	}
	var c claim
	if err := json.Unmarshal(call.Args, &c); err != nil {
		return claim{}, "the arguments of finish are wrong: " + err.Error()
	}
	if c.Outcome == outcomeEscalate && strings.TrimSpace(c.Question) == "" {
		return c, "escalate needs a question to the person"
	}
	return c, ""
}

// sendBack tells the model why its work is not over.
func (l *loop) sendBack(t *turn, i int, reason string) {
	m := made{Done: true, Status: sdk.ToolError, Text: string(errorData(codeArgs, "not finished: "+reason))}
	m.Brief = brief(t.Reply.Calls[i], m)
	t.Made[i] = m
	l.progress("not finished: "+short(reason, 200), finishTool)
}

// spoken takes the second reply in a row that is text alone for the end, where nothing but words is asked for.
func (l *loop) spoken(t *turn) *claim {
	text := strings.TrimSpace(t.Reply.Text)
	if l.talk.Silent < 2 || text == "" || l.finish.wanted || l.Request.StepID != "" {
		return nil
	}
	return &claim{Outcome: outcomeSuccess, Summary: text}
}
