package loop

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// finishAttempt ends the attempt with a claim: it writes the result and the artifact, and shows the claim.
func (l *loop) finishAttempt(c claim) (sdk.ExecuteResult, error) {
	if c.Outcome == outcomeFail {
		if why := l.conversation.refusalFailure(); why != nil {
			return failureResult(why.WithDetail(c.Summary))
		}
	}
	if err := l.writeArtifact(c); err != nil {
		return failureResult(err)
	}
	if err := l.writeResult(c); err != nil {
		return failureResult(err)
	}
	l.showClaim(c)
	return sdk.ExecuteResult{Outcome: sdk.OutcomeSucceeded}, nil
}

// writeResult writes result.json. Fields that the agent wrote there stay, or else the decision of its status.json is used.
func (l *loop) writeResult(c claim) error {
	path := l.Request.Paths.Result
	if path == "" {
		return nil
	}
	result := readObject(path)
	if result == nil {
		result = map[string]any{}
		status := readObject(l.Request.Paths.Status)
		for _, key := range []string{"decision", "reason"} {
			if value, found := status[key].(string); found {
				result[key] = value
			}
		}
	}
	result["summary"] = c.Summary
	work, _ := result["work"].(map[string]any)
	if work == nil {
		work = map[string]any{"items_completed": []string{}}
	}
	work["files_touched"] = l.touchedFiles(c)
	result["work"] = work
	if len(c.Artifact) > 0 {
		result["artifact"] = c.Artifact
	}
	l.setOutcome(result, c)
	text, err := json.MarshalIndent(result, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(text, '\n'), 0o644)
	}
	if err != nil {
		return failure.New(failure.ResultMissing, "write the result: %w", err)
	}
	return nil
}

// setOutcome writes an outcome other than success. A result without an outcome is a success, so that the artifact's own
// verdict counts.
func (l *loop) setOutcome(result map[string]any, c claim) {
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
		result["decision"] = "error" // without a contract nothing reads the outcome
	}
}

// touchedFiles returns the changed files and the files that the claim names.
func (l *loop) touchedFiles(c claim) []string {
	files := append([]string{}, l.conversation.ChangedFiles...)
	for _, file := range c.Files {
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

// writeArtifact writes the artifact of the claim, which the result holds too, or the one that was handed over, to the
// node's artifact file.
func (l *loop) writeArtifact(c claim) error {
	path, artifact := l.Request.Paths.Artifact, c.Artifact
	if len(artifact) == 0 {
		artifact = l.conversation.Artifact
	}
	if path == "" || len(artifact) == 0 || c.Outcome != outcomeSuccess {
		return nil
	}
	if err := os.WriteFile(path, append(slices.Clone(artifact), '\n'), 0o644); err != nil {
		return failure.New(failure.ResultMissing, "write the artifact: %w", err)
	}
	return nil
}

// showClaim ends the output with the claim's texts and the artifact, which readers may look for there.
func (l *loop) showClaim(c claim) {
	if last := l.conversation.lastTurn(); last != nil && len(last.Reply.Calls) == 0 {
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
