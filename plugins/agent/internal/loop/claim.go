package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/tool"
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
	_ = json.Unmarshal(l.step.Verification, &v) // a plain text is a verification for the agent alone
	if missing, err := missingFile(l.Request.WorkDir, v.Files); missing != "" || err != nil {
		return missing, err
	}
	if strings.TrimSpace(v.Command) == "" {
		return "", nil
	}
	return l.verifyCommand(ctx, t, v.Command)
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
		result := sdk.ToolResult{CallID: id, Status: refusal.Status, Result: refusal.Data()}
		l.Exchange.Observe(sdk.ToolCall{CallID: id, Tool: terminalTool, Args: args, Effect: sdk.EffectNone, Turn: t.N})
		l.Exchange.ObserveResult(result)
		return result, nil
	}
	call := prepared.ToolCall
	call.CallID, call.Turn, call.Reason = id, t.N, "the step names it as its verification"
	l.progress(progressText(call), call.Tool)
	verdict, err := l.Exchange.Call(ctx, call)
	if err != nil {
		return sdk.ToolResult{}, err
	}
	var made tool.Result
	switch verdict.Action {
	case sdk.VerdictRun:
		made = prepared.Run(ctx)
	case sdk.VerdictSkip: // a claim needs its verification
		verdict.Action = sdk.VerdictDeny
	}
	result := verdictResult(id, verdict, made)
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

// sendBack answers a call of finish with the reason why the work is not finished.
func (l *loop) sendBack(t *turn, i int, reason string) {
	t.record(i, callRecord{Status: sdk.ToolError, Text: string(tool.InvalidArgs("not finished: %s", reason).Data())})
	l.progress("not finished: "+truncate(reason, 200), finishTool)
}
