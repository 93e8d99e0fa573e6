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

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// step is what a plan's item may say of how the step is done.
type step struct {
	Action       string          `json:"action"`
	Verification json.RawMessage `json:"verification"`
}

// verification is what a step says of how it is seen to be done; a text is for the agent alone.
type verification struct {
	Files   []string `json:"files"`
	Command string   `json:"command"`
}

// actionTools are the tools of which one has to have succeeded, by the action of a step (REQUIREMENTS U166).
var actionTools = map[string][]string{
	"READ_FILE":        {"read_file"},
	"WRITE_FILE":       {"write_file", "modify_file"},
	"GENERATE_CODE":    {"write_file", "modify_file"},
	"MODIFY_FILE":      {"modify_file", "write_file"},
	"DELETE_FILE":      {"delete_file"},
	"CREATE_DIRECTORY": {"create_directory", "write_file"},
	"RUN_COMMAND":      {terminalTool},
	"ANALYZE_CODE":     {"read_file", "search_code", "list_directory"},
}

// early says why a claim of success does not hold, "" if nothing speaks against it. It costs a command where the step
// names one.
func (l *loop) early(ctx context.Context, t *turn, c claim) (string, error) {
	if name, failed := t.trouble(); failed {
		return "a call of " + name + " in the same reply did not succeed: see what it says first", nil
	}
	wanted := actionTools[strings.ToUpper(l.step.Action)]
	if len(wanted) > 0 && !slices.ContainsFunc(wanted, func(tool string) bool { return slices.Contains(l.talk.Did, tool) }) {
		return fmt.Sprintf("the step's action is %s, and no call of %s has succeeded", l.step.Action, strings.Join(wanted, " or ")), nil
	}
	if wrong := l.wrongArtifact(c); wrong != "" {
		return wrong, nil
	}
	return l.unverified(ctx, t)
}

// wrongArtifact looks at the artifact of the claim, else at the file that was written for it.
func (l *loop) wrongArtifact(c claim) string {
	if !l.finish.wanted || l.talk.Artifact != nil {
		return ""
	}
	give := "give it to finish as `artifact`"
	if l.finish.tool != "" {
		give = "hand it over with " + l.finish.tool
	}
	made, from := c.Artifact, "the artifact"
	if len(made) == 0 || string(made) == "null" {
		if l.Request.Paths.Artifact == "" {
			return "this stage makes an artifact: " + give
		}
		made, from = nil, "the artifact in "+l.Request.Paths.Artifact
		if text, err := os.ReadFile(l.Request.Paths.Artifact); err == nil {
			made = bytes.TrimSpace(text)
		}
		if len(made) == 0 {
			return "this stage makes an artifact: " + give + ", or write it to " + l.Request.Paths.Artifact
		}
		if !json.Valid(made) {
			return "" // YAML, which the kernel reads
		}
	}
	if l.finish.artifact == nil {
		return ""
	}
	if wrong := faults(l.finish.artifact, made); wrong != "" {
		return from + " does not fit its schema:\n" + wrong
	}
	return ""
}

// unverified looks for the step's files and runs its command.
func (l *loop) unverified(ctx context.Context, t *turn) (string, error) {
	var v verification
	_ = json.Unmarshal(l.step.Verification, &v) // a text is for the agent
	if missing, err := l.missing(v.Files); missing != "" || err != nil {
		return missing, err
	}
	if strings.TrimSpace(v.Command) == "" {
		return "", nil
	}
	return l.verify(ctx, t, v.Command)
}

func (l *loop) missing(files []string) (string, error) {
	if len(files) == 0 {
		return "", nil
	}
	root, err := os.OpenRoot(l.Request.WorkDir)
	if err != nil {
		return "", fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	for _, file := range files {
		if _, err := root.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return "the step's verification names the file " + file + ", which does not exist", nil
		} else if err != nil {
			return fmt.Sprintf("the step's verification names the file %s, which cannot be looked at: %v", file, err), nil
		}
	}
	return "", nil
}

// verify makes the step's command, as a call like any other.
func (l *loop) verify(ctx context.Context, t *turn, command string) (string, error) {
	id := fmt.Sprintf("t%d.verification", t.N)
	result, err := l.verification(ctx, t, id, command)
	if err != nil {
		return "", err
	}
	if result.Status == sdk.ToolSuccess && exitCode(result.Result) == 0 {
		return "", nil
	}
	l.talk.refused(errorCode(result.Result))
	return fmt.Sprintf("the step's verification %q did not end with exit code 0: %s", command, short(string(result.Result), 4000)), nil
}

func (l *loop) verification(ctx context.Context, t *turn, id, command string) (sdk.ToolResult, error) {
	known, again := l.known[id]
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
	l.progress(progressOf(call), call.Tool)
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
