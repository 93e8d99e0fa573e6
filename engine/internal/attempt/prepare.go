package attempt

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	briefing "github.com/dodo-digital/agent-pipelines/engine/internal/contextstrategy"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// prepare makes the iteration's directory, context.json and the request. What an earlier attempt of
// the same iteration left as its result or its output is moved aside, and what it changed is told of.
func (a *attempt) prepare(ctx context.Context) (sdk.ExecuteRequest, error) {
	var err error
	if a.dir, err = store.At(a.Plan, a.command.Location); err != nil {
		return sdk.ExecuteRequest{}, err
	}
	a.iteration = a.dir.Iteration(a.command.Location.Iteration)
	a.reports = a.place()
	a.Restore(ctx, a.record)
	a.Accepted.forget(a.iteration)
	fresh, err := a.Dir.MkdirNew(string(a.iteration)) // nothing can lie in it then
	if err != nil {
		return sdk.ExecuteRequest{}, err
	}
	if !fresh {
		if a.before, err = a.lookBack(); err != nil {
			return sdk.ExecuteRequest{}, err
		}
		a.tellSuperseded(ctx)
	}
	if err := a.Dir.MkdirPrivate(a.private()); err != nil {
		return sdk.ExecuteRequest{}, err
	}
	if !fresh {
		err = a.setAsideReports()
	}
	if err := errors.Join(err, a.watch()); err != nil {
		return sdk.ExecuteRequest{}, err
	}
	if name := a.mirrored(); name != "" { // as by tee: empty while the agent is at work, and after a crash
		if err := a.Dir.Clear(name); err != nil {
			return sdk.ExecuteRequest{}, err
		}
	}
	progress, err := a.ensureProgress()
	if err != nil {
		return sdk.ExecuteRequest{}, err
	}
	a.progress = progress
	c, err := a.Inputs.Build(a.state, a.node, a.command.Location, progress)
	if err != nil {
		return sdk.ExecuteRequest{}, err
	}
	c.Paths.Status, c.Paths.Result = a.Dir.Abs(a.reports.Status()), a.Dir.Abs(a.reports.Result())
	t, unsaid := a.tell(ctx, c.Paths)
	a.addTo(&c, t)
	a.context = redaction.Context(a.Redactor, c)
	if _, err := inputs.Write(a.Dir, a.iteration, a.context); err != nil {
		return sdk.ExecuteRequest{}, err
	}
	if unsaid != nil {
		return sdk.ExecuteRequest{}, unsaid
	}
	a.keeping.Go(func() { _ = a.Dir.Anchor(string(a.iteration)) }) // while the agent works; who writes there settles what is not
	a.recordBudget(ctx, t)
	t.prompt = a.Redactor.Agent().Text(t.prompt)
	return a.request(c.Paths, t)
}

// left are the files that hold what an attempt came to, where that of a first one would be.
func (a *attempt) left() []string {
	files := []string{a.iteration.Result(), a.iteration.Status(), a.iteration.Output()}
	if a.node.Artifact != nil && a.command.Location.Step == "" {
		files = append(files, a.iteration.Artifact(), a.iteration.ArtifactJSON(), a.iteration.ArtifactCall())
	}
	return files
}

// addTo writes into the context what contracts and budgets add to it.
func (a *attempt) addTo(c *inputs.Context, t told) {
	c.Budget, c.PreviousAttempt = t.budget, a.previous(t.earlier)
	if !a.node.HasContract() {
		return
	}
	if t.artifact.Path != "" {
		c.Artifact = &t.artifact
	}
	c.InputArtifact, c.Step, c.Feedback, c.Resolution = t.input, t.step, t.feedback, a.state.Context
	if visit := a.command.Location.Visit; visit > 1 {
		c.Visit = visit
	}
	c.Cycle = inputs.Returns(a.Plan, a.state, a.command.Location)
}

// previous are the paths of what the visit before left, nil of nothing.
func (a *attempt) previous(left briefing.Attempted) *inputs.PreviousAttempt {
	var p inputs.PreviousAttempt
	if left.Output != nil {
		p.Output = a.Dir.Abs(left.Output.Path)
	}
	if left.Artifact != nil {
		p.Artifact = a.Dir.Abs(left.Artifact.Path)
	}
	if p == (inputs.PreviousAttempt{}) {
		return nil
	}
	return &p
}

// private is the directory that only this attempt writes to.
func (a *attempt) private() string { return a.iteration.Attempt(a.command.Attempt) }

// setAside moves whatever lies there, a link that leads nowhere too.
func (a *attempt) setAside(name, to string) error { return unlessThere(a.Dir.Rename(name, to)) }

// superseded is where a file of an earlier attempt goes.
func (a *attempt) superseded(name string) string {
	return a.private() + "/superseded-" + filepath.Base(name)
}

func (a *attempt) ensureProgress() (string, error) {
	switch at := a.command.Location; {
	case at.Branch != "":
		scope, err := store.Provider(a.Plan, at)
		if err != nil {
			return "", err
		}
		return a.Dir.EnsureProviderProgress(scope, at.Branch)
	case a.state.Mode == "loop":
		return a.Dir.EnsureSessionProgress()
	default:
		return a.Dir.EnsureStageProgress(a.dir)
	}
}

// mirrored is where the stage has a copy of the iteration's output, "" for none: only the stages of a
// pipeline do, those in parallel blocks not.
func (a *attempt) mirrored() string {
	if a.state.Mode == "loop" || a.command.Location.Branch != "" {
		return ""
	}
	return a.dir.Output(a.command.Location.Iteration, a.node.Termination.Max())
}

func (a *attempt) request(paths inputs.Paths, t told) (sdk.ExecuteRequest, error) {
	output, err := a.declaredOutput()
	if err != nil {
		return sdk.ExecuteRequest{}, err
	}
	resume, err := a.resumption()
	if err != nil {
		return sdk.ExecuteRequest{}, err
	}
	at, policy := a.command.Location, a.Plan.PolicyOf(a.node)
	req := sdk.ExecuteRequest{
		Resume: resume, Budget: a.budget(),
		Key: string(a.command.Key), Epoch: a.state.Epoch,
		Session: a.state.Session, Node: a.node.ID, Stage: a.node.Ref,
		Iteration: at.Iteration, Attempt: a.command.Attempt, Visit: at.Visit,
		Purpose: sdk.PurposeWork, Prompt: t.prompt, Model: a.node.Provider.Model,
		WorkDir: a.Project.Path(), Environment: a.environment(paths),
		Paths: sdk.Paths{
			Context: a.Dir.Abs(a.iteration.Context()), Status: paths.Status, Result: paths.Result,
			Progress: paths.Progress, Output: output, Attempt: a.Dir.Abs(a.private()),
		},
		Timeout: seconds(cmp.Or(policy.Timeout, policy.StageTimeout)), IdleTimeout: seconds(policy.IdleTimeout),
		Mode: sdk.Mode(policy.Mode), Tools: toolLimits(policy),
	}
	a.addContract(&req, t)
	err = a.addWrapped(&req)
	return req, err
}

// toolLimits are the limits of the agent's own tools.
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

// addContract says in the request what the prompt says of the node's contract, for providers that read no prose. The
// artifact of a node with steps is made by all of them together, and so by none on its own.
func (a *attempt) addContract(req *sdk.ExecuteRequest, t told) {
	req.StepID, req.Step, req.Contract = a.command.Location.Step, t.step, a.node.HasContract()
	req.Paths.Artifact, req.Paths.InputArtifact = t.artifact.Path, t.input
	if a.node.Steps != nil && req.StepID != "" {
		req.MaxTurns = a.node.Steps.MaxTurns
	}
	if a.node.Artifact != nil && req.StepID == "" {
		req.ArtifactSchema, req.ArtifactTool = artifact.RequestedSchema(a.node.Artifact), a.node.Artifact.Tool()
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// declaredOutput is the absolute path of the node's output_path, "" without one. Its directory is
// made, inside the project only.
func (a *attempt) declaredOutput() (string, error) {
	name := a.outputName()
	if name == "" {
		return "", nil
	}
	if err := a.Project.Mkdir(filepath.Dir(name)); err != nil {
		return "", failure.New(failure.ConfigInvalid, "make the directory of output_path %s: %w", name, err).
			WithHint("output_path has to lie inside the project")
	}
	a.declared, _ = a.Project.Stat(name) // nil: not there yet
	return a.Project.Abs(name), nil
}

// outputName is the node's output_path in the project, "" without one.
func (a *attempt) outputName() string {
	return store.DeclaredOutput(a.Plan, a.node, a.state.Session, a.command.Location)
}

// environment is what the Bash engine gave its agents (BASH-BEHAVIOUR 6).
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
