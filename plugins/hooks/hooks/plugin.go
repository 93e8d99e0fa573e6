package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strconv"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/check"
	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/script"
	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/webhook"
)

// Plugin is the plugin agent-plugin-hooks. The version is a semantic version without a leading v.
func Plugin(version string) sdk.Plugin {
	return sdk.Plugin{
		Name: "hooks", Version: version,
		Providers:   []sdk.Provider{NewCommandProvider()},
		HookActions: []sdk.HookAction{check.New(), script.New(), webhook.New()},
	}
}

// Wrapped is the provider command: it runs the command of a node that wraps one, and asks no model. Use [NewWrapped].
// It is safe for concurrent use.
type CommandProvider struct{ environ func() []string }

// NewWrapped returns the provider. Its commands get the process's environment.
func NewCommandProvider() *CommandProvider { return &CommandProvider{os.Environ} }

// Describe implements [sdk.Provider].
func (w *CommandProvider) Describe() sdk.Component {
	return sdk.Component{
		Name:        "command",
		Summary:     "runs the command that a node wraps; asks no model",
		Concurrency: sdk.ConcurrencySafe,
		Provider:    &sdk.ProviderTraits{Locality: sdk.LocalityLocal, SoftCancel: true, Usage: sdk.ReportsAlways, Cost: sdk.ReportsAlways},
		Needs:       &sdk.Needs{Commands: true},
	}
}

// tempFail is EX_TEMPFAIL of sysexits.h: what failed now may work later.
const tempFail = 75

// Execute runs req.Run with sh in the work directory, with req.Input on its standard input. The command ends well with
// exit code 0 and one JSON object on its standard output, which becomes the artifact; the result is written beside it,
// as an agent would. Any other end is a failure; [tempFail] says that trying again can help.
func (w *CommandProvider) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	if req.Run == "" {
		return sdk.ExecuteResult{}, failure.New(failure.ConfigInvalid, "command: there is nothing to run").
			WithHint("this provider runs what a node wraps, wraps: {run: …}; a prompt is for another one")
	}
	printed := &stdoutBuffer{}
	end, err := cliagent.Run(ctx, cliagent.Command{
		Name: "the command", Path: firing.Shell, Args: []string{"-c", req.Run}, Dir: req.WorkDir, Env: cliagent.Environ(w.environ(), attemptVariables(req)),
		Stdin: string(commandInput(req)), Line: printed.addLine, Exchange: x,
		Timeout: req.Timeout, IdleTimeout: req.IdleTimeout, Grace: req.Grace, GroupTerm: true,
	})
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	result := sdk.ExecuteResult{Output: printed.display(), ExitCode: end.ExitCode, Duration: end.Duration, Usage: zeroUsage()}
	if end.Interrupted() {
		result.Outcome = sdk.OutcomeInfrastructure
		return result, end.Failure()
	}
	outputs, failed := readOutputs(end, printed)
	if failed == nil {
		failed = writeOutputs(req.Paths, outputs)
	}
	if failed != nil {
		result.Outcome, result.Error = sdk.OutcomeFailed, failed
		return result, nil //nolint:nilerr // it ended by itself: the result says how
	}
	result.Outcome = sdk.OutcomeSucceeded
	return result, nil
}

// commandInput is what the command reads: an object in any case.
func commandInput(req sdk.ExecuteRequest) []byte {
	if len(req.Input) == 0 {
		return []byte("{}\n")
	}
	return append(req.Input[:len(req.Input):len(req.Input)], '\n')
}

// zeroUsage is what a command uses of any model, so that its ceiling of cost is charged with that.
func zeroUsage() *sdk.Usage {
	return &sdk.Usage{InputTokens: new(int64), OutputTokens: new(int64), CostUSD: new(float64)}
}

// attemptVariables are the variables that a command is given, beside those of the attempt.
func attemptVariables(req sdk.ExecuteRequest) map[string]string {
	vars := map[string]string{
		firing.VariablePrefix + "SESSION": req.Session, firing.VariablePrefix + "NODE": req.Node, firing.VariablePrefix + "STAGE": req.Stage, firing.VariablePrefix + "ITERATION": strconv.Itoa(req.Iteration),
		firing.VariablePrefix + "CTX": req.Paths.Context, firing.VariablePrefix + "ATTEMPT": strconv.Itoa(req.Attempt), firing.VariablePrefix + "ATTEMPT_KEY": req.Key,
	}
	maps.Copy(vars, req.Environment)
	return vars
}

// readOutputs are the outputs of a command that ended by itself, or why it failed.
func readOutputs(end cliagent.End, printed *stdoutBuffer) (json.RawMessage, *failure.Error) {
	switch {
	case end.ExitCode == tempFail:
		f := failure.New(failure.ProviderFailed, "the command exited with code %d: it may work later", tempFail).WithDetail(end.Stderr)
		f.Retryable = true
		return nil, f.WithHint("its last words say what it waits for")
	case !end.Clean():
		f := failure.New(failure.ProviderFailed, "%s", end.Failure().Message).WithDetail(end.Stderr)
		f.Retryable = false
		return nil, f.WithHint("run it by hand in the project, with its inputs on stdin; exit code %d says that trying again can help", tempFail)
	}
	outputs, wrong := printed.parseObject()
	if wrong == "" {
		return outputs, nil
	}
	f := failure.New(failure.ResultInvalid, "the command %s", wrong).WithDetail(end.Stderr)
	f.Retryable = false
	return nil, f.WithHint("it has to print its outputs as one JSON object, alone or as its last line, {} for none; what is for people goes to stderr")
}

// successResult is the result of a command that ended well; its artifact lies beside it.
const successResult = `{"decision": "stop", "reason": "the command has ended", "summary": "the command has ended"}`

// writeOutputs leaves what an agent would leave: its artifact, and its result.
func writeOutputs(to sdk.Paths, outputs json.RawMessage) *failure.Error {
	for path, text := range map[string][]byte{to.Artifact: outputs, to.Result: []byte(successResult)} {
		if path == "" { // nobody reads it
			continue
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return failure.From(fmt.Errorf("keep the outputs of the command: %w", err))
		}
	}
	return nil
}
