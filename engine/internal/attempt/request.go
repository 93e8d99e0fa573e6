package attempt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/engine/internal/approval"
	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/exchange"
	"github.com/dodo-digital/agent-pipelines/engine/internal/prompt"
)

// newRequest returns the provider's request with the given paths.
func newRequest(e *effect.Effect, paths sdk.Paths, d prompt.Data) (sdk.ExecuteRequest, error) {
	resume, err := exchange.Resume(e)
	if err != nil {
		return sdk.ExecuteRequest{}, err
	}
	at, policy := e.Command.Location, e.Plan.EffectivePolicy(e.Node)
	req := sdk.ExecuteRequest{
		Resume: resume, Budget: e.Budget(),
		Key: string(e.Command.Key), Epoch: e.State.Epoch,
		Session: e.State.Session, Node: e.Node.ID, Stage: e.Node.Ref,
		Iteration: at.Iteration, Attempt: e.Command.Attempt, Visit: at.Visit,
		Purpose: sdk.PurposeWork, Prompt: e.Redactor.ForAgent().Text(d.Prompt), Model: e.Node.Provider.Model,
		WorkDir: e.Project.Path(), Environment: environment(e, paths), Paths: paths,
		Timeout: plan.Seconds(cmp.Or(policy.Timeout, policy.StageTimeout)), IdleTimeout: plan.Seconds(policy.IdleTimeout),
		Mode: sdk.Mode(policy.Mode), Tools: toolLimits(policy),
	}
	addContract(e, &req, d)
	err = addWrappedCommand(e, &req)
	return req, err
}

// toolLimits returns the limits of the agent's own tools.
func toolLimits(p plan.Policy) sdk.ToolLimits {
	var limits sdk.ToolLimits
	if t := p.Tools; t != nil {
		limits = sdk.ToolLimits{AllowedCommands: t.AllowedCommands, CommandTimeout: plan.Seconds(t.CommandTimeout), MaxResultTokens: t.MaxResultTokens}
	}
	if p.Approvals != nil {
		limits.Protected, limits.ReadOnly = p.Approvals.Protected, approval.DeniesChanges(p.Approvals)
	}
	return limits
}

// addContract adds the node's contract to the request, for providers that do not parse the prompt. All steps make the
// node's artifact together, so a step has no artifact of its own.
func addContract(e *effect.Effect, req *sdk.ExecuteRequest, d prompt.Data) {
	req.StepID, req.Step, req.Contract = e.Command.Location.Step, d.Step, e.Node.HasContract()
	req.Paths.Artifact, req.Paths.InputArtifact = d.Artifact.Path, d.InputArtifact
	if e.Node.Steps != nil && req.StepID != "" {
		req.MaxTurns = e.Node.Steps.MaxTurns
	}
	if e.Node.Artifact != nil && req.StepID == "" {
		req.ArtifactSchema, req.ArtifactTool = artifact.RequestedSchema(e.Node.Artifact), e.Node.Artifact.Tool()
	}
}

// environment returns the variables that the Bash engine gave its agents (BASH-BEHAVIOUR 6).
func environment(e *effect.Effect, paths sdk.Paths) map[string]string {
	t := e.Node.Termination
	env := map[string]string{
		"CLAUDE_PIPELINE_AGENT": "1",
		"MAX_ITERATIONS":        strconv.Itoa(t.Max()),
		"MIN_ITERATIONS":        strconv.Itoa(t.MinIterations()),
		"CONSENSUS":             strconv.Itoa(t.Consensus()),
		"CODEX_STATUS_FILE":     paths.Status,
		"MOCK_STATUS_FILE":      paths.Status,
		"MOCK_RESULT_FILE":      paths.Result,
		"MOCK_PROVIDER":         cmp.Or(e.Command.Location.Branch, e.Node.Provider.Type),
		"MOCK_ITERATION":        strconv.Itoa(e.Command.Location.Iteration),
	}
	if e.State.Mode == "loop" {
		env["CLAUDE_PIPELINE_SESSION"], env["CLAUDE_PIPELINE_TYPE"] = e.State.Session, e.Node.Ref
	}
	return env
}

// stageDirVariable is the variable with the stage's folder, for the command that a stage wraps.
const stageDirVariable = "AGENT_PIPELINES_STAGE_DIR"

// addWrappedCommand adds the wrapped command and its inputs to the request, without the contract: the command's
// output is mapped to the artifact later.
func addWrappedCommand(e *effect.Effect, req *sdk.ExecuteRequest) error {
	if !e.Node.WrapsCommand() {
		return nil
	}
	req.Run, req.Input, req.ArtifactSchema = e.Node.Wraps.Run, json.RawMessage("{}"), nil
	dir, err := e.StageDir(e.Node)
	if err != nil {
		return err
	}
	if dir != "" {
		req.Environment[stageDirVariable] = dir
	}
	ref := e.State.Nodes[e.Command.Location.Outer()].Input
	if ref == nil {
		return nil
	}
	input, err := artifact.Load(e.Dir, *ref)
	if err != nil {
		return err
	}
	if req.Input, err = json.Marshal(input.Data); err != nil {
		return fmt.Errorf("hand the inputs to the command of %s: %w", e.Node.ID, err)
	}
	return nil
}
