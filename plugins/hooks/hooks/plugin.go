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
	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/deliver"
	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/script"
	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/webhook"
)

// Plugin returns the plugin agent-plugin-hooks. The version is a semantic version without a leading v.
func Plugin(version string) sdk.Plugin {
	return sdk.Plugin{
		Name: "hooks", Version: version,
		Providers:   []sdk.Provider{NewCommandProvider()},
		HookActions: []sdk.HookAction{check.New(), deliver.New(), script.New(), webhook.New()},
	}
}

// CommandProvider is the provider command: it runs the command that a node wraps, without a model. Use
// [NewCommandProvider]. It is safe for concurrent use.
type CommandProvider struct{ environ func() []string }

// NewCommandProvider returns the provider. Its commands inherit the process's environment.
func NewCommandProvider() *CommandProvider { return &CommandProvider{os.Environ} }

// Describe implements [sdk.Provider].
func (w *CommandProvider) Describe() sdk.Component {
	return sdk.Component{
		Name:     "command",
		Summary:  "runs the command that a node wraps; uses no model",
		Provider: &sdk.ProviderTraits{Locality: sdk.LocalityLocal, SoftCancel: true, Usage: sdk.ReportsAlways, Cost: sdk.ReportsAlways},
		Needs:    &sdk.Needs{Commands: true, Environment: []string{sdk.AllVariables}},
	}
}

// tempFail is EX_TEMPFAIL of sysexits.h: a temporary failure, so that a retry may succeed.
const tempFail = 75

// Execute runs req.Run with sh in the work directory, with req.Input on its standard input. The command succeeds with
// exit code 0 and a JSON object as its standard output or as the last line of it. That object becomes the artifact.
//
// Execute writes the artifact and a result file to the paths of the request, as an agent would. Every other end is
// a failure; exit code [tempFail] makes the failure retryable.
func (w *CommandProvider) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	if req.Run == "" {
		return sdk.ExecuteResult{}, failure.New(failure.ConfigInvalid, "command: the request has no command").
			WithHint("wrap a command with wraps: {run: …}; for a prompt use another provider")
	}
	printed := &firing.HeadBuffer{Max: maxPrinted}
	end, err := cliagent.Run(ctx, cliagent.Command{
		Name: "the command", Path: firing.Shell, Args: []string{"-c", req.Run}, Dir: req.WorkDir, Env: cliagent.Environ(w.environ(), attemptVariables(req)),
		Stdin: string(commandInput(req)), Line: func(line []byte) bool { printed.Add(line); return false }, Exchange: x,
		Timeout: req.Timeout, IdleTimeout: req.IdleTimeout, Grace: req.Grace, GroupTerm: true,
	})
	if err != nil {
		return sdk.ExecuteResult{}, err
	}
	result := sdk.ExecuteResult{Output: display(printed), ExitCode: end.ExitCode, Duration: end.Duration}
	result.Usage = &sdk.Usage{InputTokens: new(int64), OutputTokens: new(int64), CostUSD: new(float64)} // a command uses no model
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
		return result, nil //nolint:nilerr // the command exited without being stopped: the result holds the error
	}
	result.Outcome = sdk.OutcomeSucceeded
	return result, nil
}

// commandInput returns the command's standard input: always a JSON object.
func commandInput(req sdk.ExecuteRequest) []byte {
	if len(req.Input) == 0 {
		return []byte("{}\n")
	}
	return append(req.Input[:len(req.Input):len(req.Input)], '\n')
}

// attemptVariables returns the environment variables of the attempt. The variables of the request take precedence.
func attemptVariables(req sdk.ExecuteRequest) map[string]string {
	vars := map[string]string{
		firing.VariablePrefix + "SESSION": req.Session, firing.VariablePrefix + "NODE": req.Node, firing.VariablePrefix + "STAGE": req.Stage, firing.VariablePrefix + "ITERATION": strconv.Itoa(req.Iteration),
		firing.VariablePrefix + "CTX": req.Paths.Context, firing.VariablePrefix + "ATTEMPT": strconv.Itoa(req.Attempt), firing.VariablePrefix + "ATTEMPT_KEY": req.Key,
	}
	maps.Copy(vars, req.Environment)
	return vars
}

// readOutputs returns the outputs of a command that exited without being stopped, or the reason for its failure.
func readOutputs(end cliagent.End, printed *firing.HeadBuffer) (json.RawMessage, *failure.Error) {
	switch {
	case end.ExitCode == tempFail:
		f := failure.New(failure.ProviderFailed, "the command exited with code %d: a retry may succeed", tempFail).WithDetail(end.Stderr)
		f.Retryable = true
		return nil, f.WithHint("read its stderr: it names the reason")
	case !end.Clean():
		f := failure.New(failure.ProviderFailed, "%s", end.Failure().Message).WithDetail(end.Stderr)
		f.Retryable = false
		return nil, f.WithHint("run it by hand in the project, with its inputs on stdin; let it exit with code %d if a retry can help", tempFail)
	}
	outputs, problem := parseObject(printed)
	if problem == "" {
		return outputs, nil
	}
	f := failure.New(failure.ResultInvalid, "the command %s", problem).WithDetail(end.Stderr)
	f.Retryable = false
	return nil, f.WithHint("print the outputs as one JSON object, alone or as the last line, {} for none; print text for the user to stderr")
}

// successResult is the result file of a command that succeeded; its artifact is in the same directory.
const successResult = `{"decision": "stop", "reason": "the command has ended", "summary": "the command has ended"}`

// writeOutputs writes the artifact and the result file, as an agent would.
func writeOutputs(to sdk.Paths, outputs json.RawMessage) *failure.Error {
	for path, text := range map[string][]byte{to.Artifact: outputs, to.Result: []byte(successResult)} {
		if path == "" { // the request has no such path
			continue
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return failure.From(fmt.Errorf("write the outputs of the command: %w", err))
		}
	}
	return nil
}
