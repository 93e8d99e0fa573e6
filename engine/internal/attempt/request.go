package attempt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

func (a *attempt) request(paths inputs.Paths, t promptData) (sdk.ExecuteRequest, error) {
	output, err := a.prepareDeclaredOutput()
	if err != nil {
		return sdk.ExecuteRequest{}, err
	}
	resume, err := a.resumeData()
	if err != nil {
		return sdk.ExecuteRequest{}, err
	}
	at, policy := a.command.Location, a.Plan.EffectivePolicy(a.node)
	req := sdk.ExecuteRequest{
		Resume: resume, Budget: a.budget(),
		Key: string(a.command.Key), Epoch: a.state.Epoch,
		Session: a.state.Session, Node: a.node.ID, Stage: a.node.Ref,
		Iteration: at.Iteration, Attempt: a.command.Attempt, Visit: at.Visit,
		Purpose: sdk.PurposeWork, Prompt: t.prompt, Model: a.node.Provider.Model,
		WorkDir: a.Project.Path(), Environment: a.environment(paths),
		Paths: sdk.Paths{
			Context: a.Dir.Abs(a.iteration.Context()), Status: paths.Status, Result: paths.Result,
			Progress: paths.Progress, Output: output, Attempt: a.Dir.Abs(a.privateDir()),
		},
		Timeout: seconds(cmp.Or(policy.Timeout, policy.StageTimeout)), IdleTimeout: seconds(policy.IdleTimeout),
		Mode: sdk.Mode(policy.Mode), Tools: toolLimits(policy),
	}
	a.addContract(&req, t)
	err = a.addWrappedCommand(&req)
	return req, err
}

// toolLimits returns the limits of the agent's own tools.
func toolLimits(p plan.Policy) sdk.ToolLimits {
	var limits sdk.ToolLimits
	if t := p.Tools; t != nil {
		limits = sdk.ToolLimits{AllowedCommands: t.AllowedCommands, CommandTimeout: seconds(t.CommandTimeout), MaxResultTokens: t.MaxResultTokens}
	}
	if p.Approvals != nil {
		limits.Protected = p.Approvals.Protected
	}
	return limits
}

// addContract adds the node's contract to the request, for providers that do not parse the prompt. All steps make the
// node's artifact together, so a step has no artifact of its own.
func (a *attempt) addContract(req *sdk.ExecuteRequest, t promptData) {
	req.StepID, req.Step, req.Contract = a.command.Location.Step, t.step, a.node.HasContract()
	req.Paths.Artifact, req.Paths.InputArtifact = t.artifact.Path, t.inputArtifact
	if a.node.Steps != nil && req.StepID != "" {
		req.MaxTurns = a.node.Steps.MaxTurns
	}
	if a.node.Artifact != nil && req.StepID == "" {
		req.ArtifactSchema, req.ArtifactTool = artifact.RequestedSchema(a.node.Artifact), a.node.Artifact.Tool()
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// prepareDeclaredOutput returns the absolute path of the node's output_path, "" without one. It creates the
// directory, inside the project only.
func (a *attempt) prepareDeclaredOutput() (string, error) {
	name := a.declaredPath()
	if name == "" {
		return "", nil
	}
	if err := a.Project.Mkdir(filepath.Dir(name)); err != nil {
		return "", failure.New(failure.ConfigInvalid, "make the directory of output_path %s: %w", name, err).
			WithHint("set output_path to a path inside the project")
	}
	a.declaredInfo, _ = a.Project.Stat(name) // nil: no such file yet
	return a.Project.Abs(name), nil
}

// declaredPath returns the node's output_path in the project, "" without one.
func (a *attempt) declaredPath() string {
	return store.OutputPath(a.Plan, a.node, a.state.Session, a.command.Location)
}

// environment returns the variables that the Bash engine gave its agents (BASH-BEHAVIOUR 6).
func (a *attempt) environment(paths inputs.Paths) map[string]string {
	t := a.node.Termination
	env := map[string]string{
		"CLAUDE_PIPELINE_AGENT": "1",
		"MAX_ITERATIONS":        strconv.Itoa(t.Max()),
		"MIN_ITERATIONS":        strconv.Itoa(t.MinIterations()),
		"CONSENSUS":             strconv.Itoa(t.Consensus()),
		"CODEX_STATUS_FILE":     paths.Status,
		"MOCK_STATUS_FILE":      paths.Status,
		"MOCK_RESULT_FILE":      paths.Result,
		"MOCK_PROVIDER":         cmp.Or(a.command.Location.Branch, a.node.Provider.Type),
		"MOCK_ITERATION":        strconv.Itoa(a.command.Location.Iteration),
	}
	if a.state.Mode == "loop" {
		env["CLAUDE_PIPELINE_SESSION"], env["CLAUDE_PIPELINE_TYPE"] = a.state.Session, a.node.Ref
	}
	return env
}

// ContextTokens returns the context size of the provider's model in tokens. It fails if the provider does not state one.
func ContextTokens(provider sdk.Provider, n *plan.Node) (int64, error) {
	c := provider.Describe()
	if c.Provider == nil || c.Provider.ContextTokens <= 0 {
		return 0, failure.New(failure.ConfigInvalid, "policy.budget.total of %s is \"model\", and provider %s does not say how much its model takes in", n.ID, c.Name).
			WithHint("write a number of tokens instead of \"model\"")
	}
	return c.Provider.ContextTokens, nil
}

// budget returns the attempt's spending limits, nil without limits.
func (a *attempt) budget() *sdk.Budget {
	part := a.loop().Allowance()
	if part == nil {
		return nil
	}
	return &sdk.Budget{MaxUSD: part.USD, MaxTokens: part.Tokens}
}

// stageDirVariable is the variable with the stage's folder, for the command that a stage wraps.
const stageDirVariable = "AGENT_PIPELINES_STAGE_DIR"

// addWrappedCommand adds the wrapped command and its inputs to the request, without the contract: the command's
// output is mapped to the artifact later.
func (a *attempt) addWrappedCommand(req *sdk.ExecuteRequest) error {
	if !a.node.WrapsCommand() {
		return nil
	}
	req.Run, req.Input, req.ArtifactSchema = a.node.Wraps.Run, json.RawMessage("{}"), nil
	if dir := a.Project.StageDir(a.node); dir != "" {
		req.Environment[stageDirVariable] = dir
	}
	ref := a.state.Nodes[a.command.Location.Outer()].Input
	if ref == nil {
		return nil
	}
	input, err := artifact.Load(a.Dir, *ref)
	if err != nil {
		return err
	}
	if req.Input, err = json.Marshal(input.Data); err != nil {
		return fmt.Errorf("hand the inputs to the command of %s: %w", a.node.ID, err)
	}
	return nil
}

func (a *attempt) loop() state.Loop {
	l := a.state.LoopAt(a.command.Location)
	if failpoint.Defect(failpoint.SkipDedupe) {
		l.Calls, l.Checkpoint = nil, nil
	}
	return l
}

// resumeData returns the checkpoint and calls of an attempt that a crash interrupted, nil for any other.
func (a *attempt) resumeData() (*sdk.Resume, error) {
	l := a.loop()
	if l.Checkpoint == nil && len(l.Calls) == 0 {
		return nil, nil //nolint:nilnil // nothing to resume
	}
	r := &sdk.Resume{}
	if l.Checkpoint != nil {
		blob, err := a.Dir.ReadRef(l.Checkpoint.Blob)
		if err != nil {
			return nil, err
		}
		r.Checkpoint = sdk.Checkpoint{Turn: l.Checkpoint.Turn, Blob: blob}
	}
	for _, c := range l.Calls {
		call, err := a.resumedCall(c)
		if err != nil {
			return nil, err
		}
		r.Calls = append(r.Calls, call)
	}
	return r, nil
}

func (a *attempt) resumedCall(c state.Call) (sdk.ResumedCall, error) {
	args, err := a.readPayload(c.Call.Args, c.Call.ArgsRef)
	if err != nil {
		return sdk.ResumedCall{}, err
	}
	call := sdk.ResumedCall{Call: sdk.ToolCall{
		CallID: c.Call.CallID, Tool: c.Call.Tool, Args: args, Effect: sdk.Effect(c.Call.Effect), Turn: c.Call.Turn,
		Category: sdk.Category(c.Call.Category), Paths: c.Call.Paths, Command: c.Call.Command,
	}}
	if c.Result != nil {
		call.Result, err = a.toolResult(c.Result)
	}
	return call, err
}

func (a *attempt) toolResult(d *event.ToolResultData) (*sdk.ToolResult, error) {
	result, err := a.readPayload(d.Result, d.ResultRef)
	return &sdk.ToolResult{CallID: d.CallID, Status: sdk.ToolStatus(d.Status), Result: result}, err
}

func (a *attempt) readPayload(raw []byte, ref *event.Ref) ([]byte, error) {
	if ref == nil {
		return raw, nil
	}
	return a.Dir.ReadRef(*ref)
}
