package loop

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// writeResult writes result.json with the claim and the changed files. It keeps the other fields that the agent wrote.
// Without a result.json of the agent it uses the decision of status.json.
func (c claim) writeResult(paths sdk.Paths, changed []string, hasContract bool) error {
	result := readObject(paths.Result)
	if result == nil {
		result = map[string]any{}
		status := readObject(paths.Status)
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
	files := append([]string{}, changed...)
	for _, file := range c.Files {
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	work["files_touched"] = files
	result["work"] = work
	if len(c.Artifact) > 0 {
		result["artifact"] = c.Artifact
	}
	c.setOutcome(result, hasContract)
	text, err := json.MarshalIndent(result, "", "  ")
	if err == nil {
		err = os.WriteFile(paths.Result, append(text, '\n'), 0o644)
	}
	if err != nil {
		return failure.New(failure.ResultMissing, "write the result: %w", err)
	}
	return nil
}

// setOutcome writes an outcome other than success. A result without an outcome is a success, so that the artifact's own
// verdict counts.
func (c claim) setOutcome(result map[string]any, hasContract bool) {
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
	if !hasContract {
		result["decision"] = "error" // without a contract nothing reads the outcome
	}
}

// text returns the end of the output: the claim's texts and the artifact.
func (c claim) text() string {
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
	return text
}

// readObject returns the JSON object in a file, nil if there is none.
func readObject(path string) map[string]any {
	var members map[string]any
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &members) != nil {
		return nil
	}
	return members
}
