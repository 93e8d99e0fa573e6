package loop

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// settle ends the attempt with a claim: result.json says it, and the output for people.
func (l *loop) settle(c claim) (sdk.ExecuteResult, error) {
	if c.Outcome == outcomeFail {
		if why := l.talk.forbidden(); why != nil {
			return failed(why.WithDetail(c.Summary))
		}
	}
	if err := l.writeArtifact(c); err != nil {
		return failed(err)
	}
	if err := l.writeResult(c); err != nil {
		return failed(err)
	}
	l.tell(c)
	return sdk.ExecuteResult{Outcome: sdk.OutcomeSucceeded}, nil
}

// forbidden is the failure of an attempt that could not go on without what it was not allowed, nil where it was allowed
// everything.
func (f *facts) forbidden() *failure.Error {
	switch {
	case f.Refused == codeDenied:
		return failure.New(failure.ApprovalDenied, "the agent could not go on without a tool call that was denied").
			WithHint("see `questions` and policy.approvals; allow the call, or change the task so that it is not needed")
	case f.Outside:
		return failure.New(failure.SandboxViolation, "the agent asked for what is outside the workspace or not allowed, and did not get on without it").
			WithHint("see calls.jsonl for what it asked; change the task, or policy.tools.allowed_commands")
	default:
		return nil
	}
}

// writeResult writes result.json. What the agent wrote there itself stays, or else the decision of its status.json.
func (l *loop) writeResult(c claim) error {
	path := l.Request.Paths.Result
	if path == "" {
		return nil
	}
	result := object(path)
	if result == nil {
		result = map[string]any{}
		status := object(l.Request.Paths.Status)
		for _, key := range []string{"decision", "reason"} {
			if said, there := status[key].(string); there {
				result[key] = said
			}
		}
	}
	result["summary"] = c.Summary
	work, _ := result["work"].(map[string]any)
	if work == nil {
		work = map[string]any{"items_completed": []string{}}
	}
	work["files_touched"] = l.files(c)
	result["work"] = work
	if len(c.Artifact) > 0 {
		result["artifact"] = c.Artifact
	}
	l.claimOutcome(result, c)
	text, err := json.MarshalIndent(result, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o644)
	}
	if err != nil {
		return failure.New(failure.ResultMissing, "write the result: %w", err)
	}
	return nil
}

// claimOutcome says what did not go well. Success is what a result says that names no outcome, so that the artifact's
// own verdict counts.
func (l *loop) claimOutcome(result map[string]any, c claim) {
	if c.Outcome == outcomeSuccess {
		return
	}
	result["message"] = c.Summary
	if c.Outcome == outcomeEscalate {
		delete(result, "decision")
		result["outcome"] = outcomeEscalate
		result["escalation"] = map[string]any{"type": "question", "message": c.Summary, "questions": []string{c.Question}}
		return
	}
	result["outcome"] = outcomeFail
	if c.Feedback != "" {
		result["feedback"] = c.Feedback
	}
	if !l.Request.Contract {
		result["decision"] = "error" // where nothing reads an outcome, this is how a failure is said
	}
}

// files are those that were changed, and those that the claim names.
func (l *loop) files(c claim) []string {
	files := append([]string{}, l.talk.Changed...)
	for _, file := range c.Files {
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

// writeArtifact puts the artifact of the claim, which is in the result too, or the one that was handed over, where the
// node's artifact goes.
func (l *loop) writeArtifact(c claim) error {
	path, made := l.Request.Paths.Artifact, c.Artifact
	if len(made) == 0 {
		made = l.talk.Artifact
	}
	if path == "" || len(made) == 0 || c.Outcome != outcomeSuccess {
		return nil
	}
	if err := os.WriteFile(path, append(slices.Clone(made), '\n'), 0o644); err != nil {
		return failure.New(failure.ResultMissing, "write the artifact: %w", err)
	}
	return nil
}

// tell ends the output with what people should read, and the artifact, which may be looked for there.
func (l *loop) tell(c claim) {
	if last := l.talk.last(); last != nil && len(last.Reply.Calls) == 0 {
		return // it was shown as it came
	}
	text := c.Summary + "\n"
	if c.Question != "" {
		text += "\n" + c.Question + "\n"
	}
	if c.Evidence != "" {
		text += "\n" + c.Evidence + "\n"
	}
	if len(c.Artifact) > 0 {
		text += fmt.Sprintf("\n```json\n%s\n```\n", c.Artifact)
	}
	l.Exchange.Output(sdk.OutputChunk{Stream: sdk.StreamText, Text: text})
}

// object is a file that holds a JSON object, nil for any other and for none.
func object(path string) map[string]any {
	var members map[string]any
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &members) != nil {
		return nil
	}
	return members
}
