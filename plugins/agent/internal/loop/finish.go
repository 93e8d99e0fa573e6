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

// finishTool is the name of the tool that ends the attempt.
const finishTool = "finish"

// Outcomes in a claim.
const (
	outcomeSuccess  = "success"
	outcomeFail     = "fail"
	outcomeEscalate = "escalate"
)

// claim is the model's statement in a call of finish.
type claim struct {
	Outcome  string          `json:"outcome"`
	Summary  string          `json:"summary"`
	Evidence string          `json:"evidence,omitempty"`
	Feedback string          `json:"feedback,omitempty"`
	Question string          `json:"question,omitempty"`
	Artifact json.RawMessage `json:"artifact,omitempty"`
	Files    []string        `json:"files,omitempty"`
}

// finish is the finish tool of one attempt.
type finish struct {
	parameters json.RawMessage
	schema     *jsonschema.Schema
	// needsArtifact: the attempt must make an artifact; artifactSchema is its schema, nil for any.
	needsArtifact  bool
	artifactSchema *jsonschema.Schema
	// handover is the name of the tool that takes the artifact, "" if finish takes it.
	handover string
}

// newFinish returns the tool for a request. It takes an artifact if one is needed and no other tool takes it.
func newFinish(r sdk.ExecuteRequest, tool string) (*finish, error) {
	f := &finish{handover: tool, needsArtifact: len(r.ArtifactSchema) > 0 || r.Paths.Artifact != "" && r.StepID == ""}
	text := func(about string) map[string]any { return map[string]any{"type": "string", "description": about} }
	properties := map[string]any{
		"outcome": map[string]any{
			"type": "string", "enum": []string{outcomeSuccess, outcomeFail, outcomeEscalate},
			"description": "success: the work is done. fail: it cannot be done. escalate: the user has to decide something first.",
		},
		"summary":  map[string]any{"type": "string", "minLength": 1, "description": "A summary of the work, or why it cannot be done, in a few sentences."},
		"evidence": text("How you know that it works: the commands that you ran and their output."),
		"feedback": text("For fail: information for the next attempt."),
		"question": text("For escalate: the question to the user."),
		"files":    map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "description": "Files that matter for the result."},
	}
	if f.needsArtifact && tool == "" {
		properties["artifact"] = artifactParameter(r.ArtifactSchema)
	}
	var err error
	f.parameters, err = json.Marshal(map[string]any{"type": "object", "properties": properties, "required": []string{"outcome", "summary"}, "additionalProperties": false})
	if err == nil {
		f.schema, err = compileSchema(withoutArtifact(properties))
	}
	if err == nil && len(r.ArtifactSchema) > 0 {
		f.artifactSchema, err = compileSchema(r.ArtifactSchema)
	}
	if err != nil {
		return nil, failure.New(failure.ConfigInvalid, "invalid schema of the artifact: %w", err)
	}
	return f, nil
}

// artifactParameter returns the artifact's schema if it can be part of another one, else an object that describes it.
func artifactParameter(schema json.RawMessage) any {
	var object map[string]any
	if json.Unmarshal(schema, &object) != nil || strings.Contains(string(schema), `"$`) { // references are relative to the root
		return map[string]any{"type": "object", "description": "The artifact of this stage. It has to fit this JSON Schema: " + string(schema)}
	}
	return object
}

// withoutArtifact returns the schema of the other parameters: the faults of an artifact are reported separately.
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
		Description: "Ends your work. Call it once, alone, when the task is done, cannot be done, or needs the user.",
	}
}

// checkFinish checks the call of finish in a turn whose other calls are made. A claim that does not hold is sent back.
func (l *loop) checkFinish(ctx context.Context, t *turn) (*claim, error) {
	var end *claim
	for i, call := range t.Reply.Calls {
		if call.Name != finishTool || t.Results[i].Done {
			continue
		}
		if end != nil {
			l.sendBack(t, i, "finish was called twice in one reply")
			continue
		}
		c, wrong := l.readClaim(call)
		if t.Results[i].HasSecret && l.isResumed(t) {
			wrong = "the run was interrupted, and the arguments held a secret that no checkpoint keeps; call finish again, without the secret if possible"
		}
		if wrong == "" && c.Outcome == outcomeSuccess {
			var err error
			if wrong, err = l.checkClaim(ctx, t, c); err != nil {
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

// readClaim decodes and checks the arguments.
func (l *loop) readClaim(call model.Call) (claim, string) {
	if call.Malformed != "" {
		return claim{}, "the arguments are not a JSON object: " + call.Malformed
	}
	if wrong := schemaFaults(l.finish.schema, call.Args); wrong != "" {
		return claim{}, "the arguments of finish are wrong: " + wrong
	}
	var c claim
	if err := json.Unmarshal(call.Args, &c); err != nil {
		return claim{}, "the arguments of finish are wrong: " + err.Error()
	}
	if c.Outcome == outcomeEscalate && strings.TrimSpace(c.Question) == "" {
		return c, "escalate needs a question to the user"
	}
	return c, ""
}

// sendBack answers a call of finish with the reason why the work is not finished.
func (l *loop) sendBack(t *turn, i int, reason string) {
	m := callRecord{Done: true, Status: sdk.ToolError, Text: string(errorData(codeArgs, "not finished: "+reason))}
	m.Summary = summarize(t.Reply.Calls[i], m)
	t.Results[i] = m
	l.progress("not finished: "+truncate(reason, 200), finishTool)
}

// textClaim returns a claim for the second reply in a row without calls, if the attempt needs only text.
func (l *loop) textClaim(t *turn) *claim {
	text := strings.TrimSpace(t.Reply.Text)
	if l.conversation.SilentReplies < 2 || text == "" || l.finish.needsArtifact || l.Request.StepID != "" {
		return nil
	}
	return &claim{Outcome: outcomeSuccess, Summary: text}
}
