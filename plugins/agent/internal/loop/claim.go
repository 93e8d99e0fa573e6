package loop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// checkClaim returns the reason why a claim of success does not hold, "" if it holds. It runs the step's verification
// command, if there is one.
func (l *loop) checkClaim(ctx context.Context, t *turn, c claim) (string, error) {
	if name, failed := t.failedCall(); failed {
		return "a call of " + name + " in the same reply did not succeed: read its result first", nil
	}
	wanted := actionTools[strings.ToUpper(l.step.Action)]
	if len(wanted) > 0 && !slices.ContainsFunc(wanted, func(tool string) bool { return slices.Contains(l.conversation.SucceededTools, tool) }) {
		return fmt.Sprintf("the step's action is %s, and no call of %s has succeeded", l.step.Action, strings.Join(wanted, " or ")), nil
	}
	if l.finish.needsArtifact && l.conversation.Artifact == nil {
		if wrong := l.finish.artifactFault(c, l.Request.Paths.Artifact); wrong != "" {
			return wrong, nil
		}
	}
	var v verification
	_ = json.Unmarshal(l.step.Verification, &v) // a text is for the agent
	if missing, err := missingFile(l.Request.WorkDir, v.Files); missing != "" || err != nil {
		return missing, err
	}
	if strings.TrimSpace(v.Command) == "" {
		return "", nil
	}
	return l.verifyCommand(ctx, t, v.Command)
}

// artifactFault returns the fault of the claim's artifact, or else of the artifact file.
func (f *finish) artifactFault(c claim, file string) string {
	give := "give it to finish as `artifact`"
	if f.handover != "" {
		give = "hand it over with " + f.handover
	}
	artifact, from := c.Artifact, "the artifact"
	if len(artifact) == 0 || string(artifact) == "null" {
		if file == "" {
			return "this stage makes an artifact: " + give
		}
		artifact, from = nil, "the artifact in "+file
		if text, err := os.ReadFile(file); err == nil {
			artifact = bytes.TrimSpace(text)
		}
		if len(artifact) == 0 {
			return "this stage makes an artifact: " + give + ", or write it to " + file
		}
		if !json.Valid(artifact) {
			return "" // YAML, which the kernel reads
		}
	}
	if f.artifactSchema == nil {
		return ""
	}
	if wrong := schemaFaults(f.artifactSchema, artifact); wrong != "" {
		return from + " does not fit its schema:\n" + wrong
	}
	return ""
}

// missingFile returns the reason why a file that the step's verification names is missing, "" if none is.
func missingFile(dir string, files []string) (string, error) {
	if len(files) == 0 {
		return "", nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	for _, file := range files {
		if _, err := root.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return "the step's verification names the file " + file + ", which does not exist", nil
		} else if err != nil {
			return fmt.Sprintf("the step's verification names the file %s, which cannot be read: %v", file, err), nil
		}
	}
	return "", nil
}

// verifyCommand runs the step's command as a call with a verdict, and returns the reason why it failed.
func (l *loop) verifyCommand(ctx context.Context, t *turn, command string) (string, error) {
	id := fmt.Sprintf("t%d.verification", t.N)
	result, err := l.callVerification(ctx, t, id, command)
	if err != nil {
		return "", err
	}
	if result.Status == sdk.ToolSuccess && exitCode(result.Result) == 0 {
		return "", nil
	}
	l.conversation.recordRefusal(errorCode(result.Result))
	return fmt.Sprintf("the step's verification %q did not end with exit code 0: %s", command, truncate(string(result.Result), 4000)), nil
}

func (l *loop) callVerification(ctx context.Context, t *turn, id, command string) (sdk.ToolResult, error) {
	known, again := l.resumedCalls[id]
	if known.Result != nil {
		return *known.Result, nil
	}
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return sdk.ToolResult{}, err
	}
	prepared, refusal := l.Tools.Prepare(terminalTool, args, again)
	if refusal != nil {
		result := sdk.ToolResult{CallID: id, Status: refusal.Status, Result: errorData(refusal.Code, refusal.Message)}
		l.Exchange.Observe(sdk.ToolCall{CallID: id, Tool: terminalTool, Args: args, Effect: sdk.EffectNone, Turn: t.N})
		l.Exchange.ObserveResult(result)
		return result, nil
	}
	call := prepared.Call
	call.CallID, call.Turn, call.Reason = id, t.N, "the step names it as its verification"
	l.progress(progressText(call), call.Tool)
	verdict, err := l.Exchange.Call(ctx, call)
	if err != nil {
		return sdk.ToolResult{}, err
	}
	result := sdk.ToolResult{CallID: id, Status: sdk.ToolDenied, Result: errorData(codeDenied, "not allowed: "+verdict.Reason)}
	switch {
	case verdict.Action == sdk.VerdictRun:
		done := prepared.Run(ctx)
		result.Status, result.Result = done.Status, done.Data
	case verdict.Action == sdk.VerdictUse && verdict.Result != nil:
		result.Status, result.Result = verdict.Result.Status, verdict.Result.Result
	}
	l.Exchange.Result(result)
	if ctx.Err() != nil {
		return result, context.Cause(ctx)
	}
	return result, nil
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
		c, wrong := l.finish.readClaim(call)
		if t.Results[i].HasSecret && l.comesFromCheckpoint(t.N) {
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
func (f *finish) readClaim(call model.Call) (claim, string) {
	if call.Malformed != "" {
		return claim{}, "the arguments are not a JSON object: " + call.Malformed
	}
	if wrong := schemaFaults(f.schema, call.Args); wrong != "" {
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
	t.record(i, callRecord{Status: sdk.ToolError, Text: string(errorData(codeArgs, "not finished: "+reason))})
	l.progress("not finished: "+truncate(reason, 200), finishTool)
}

// textClaim returns a claim for the second reply in a row without calls, if the attempt needs only text.
func (f *finish) textClaim(t *turn, silentReplies int) *claim {
	text := strings.TrimSpace(t.Reply.Text)
	if silentReplies < 2 || text == "" || f.needsArtifact || f.isStep {
		return nil
	}
	return &claim{Outcome: outcomeSuccess, Summary: text}
}
