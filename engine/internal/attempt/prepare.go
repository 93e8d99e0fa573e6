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

// prepare creates the iteration's directory and context.json and returns the request. It archives result and output
// of an earlier attempt, and reports that attempt's changes.
func (a *attempt) prepare(ctx context.Context) (sdk.ExecuteRequest, error) {
	var err error
	if a.dir, err = store.At(a.Plan, a.command.Location); err != nil {
		return sdk.ExecuteRequest{}, err
	}
	a.iteration = a.dir.Iteration(a.command.Location.Iteration)
	a.outputDir = a.chooseOutputDir()
	a.Restore(ctx, a.record)
	a.Accepted.forget(a.iteration)
	fresh, err := a.Dir.MkdirNew(string(a.iteration)) // a fresh directory is empty
	if err != nil {
		return sdk.ExecuteRequest{}, err
	}
	if !fresh {
		if a.previousTry, err = a.findPrevious(); err != nil {
			return sdk.ExecuteRequest{}, err
		}
		a.reportWorkspaceChanges(ctx)
	}
	if err := a.Dir.MkdirPrivate(a.privateDir()); err != nil {
		return sdk.ExecuteRequest{}, err
	}
	if !fresh {
		err = a.archiveReports()
	}
	if err := errors.Join(err, a.watchEarlierPaths()); err != nil {
		return sdk.ExecuteRequest{}, err
	}
	if name := a.stageOutput(); name != "" { // like tee in Bash: empty while the agent runs and after a crash
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
	c.Paths.Status, c.Paths.Result = a.Dir.Abs(a.outputDir.Status()), a.Dir.Abs(a.outputDir.Result())
	data, promptErr := a.buildPrompt(ctx, c.Paths)
	a.addToContext(&c, data)
	a.context = redaction.Context(a.Redactor, c)
	if _, err := inputs.Write(a.Dir, a.iteration, a.context); err != nil {
		return sdk.ExecuteRequest{}, err
	}
	if promptErr != nil {
		return sdk.ExecuteRequest{}, promptErr
	}
	a.outputWrite.Go(func() { _ = a.Dir.Anchor(string(a.iteration)) }) // concurrently with the agent; later writes report their own errors
	a.recordPromptBudget(ctx, data)
	data.prompt = a.Redactor.Agent().Text(data.prompt)
	return a.request(c.Paths, data)
}

// archivedFiles returns the result files of a first attempt that a retry archives.
func (a *attempt) archivedFiles() []string {
	files := []string{a.iteration.Result(), a.iteration.Status(), a.iteration.Output()}
	if a.node.Artifact != nil && a.command.Location.Step == "" {
		files = append(files, a.iteration.Artifact(), a.iteration.ArtifactJSON(), a.iteration.ArtifactCall())
	}
	return files
}

// addToContext adds the data of contracts and budgets to the context.
func (a *attempt) addToContext(c *inputs.Context, t promptData) {
	c.Budget, c.PreviousAttempt = t.budget, a.previousVisitPaths(t.previousVisit)
	if !a.node.HasContract() {
		return
	}
	if t.artifact.Path != "" {
		c.Artifact = &t.artifact
	}
	c.InputArtifact, c.Step, c.Feedback, c.Resolution = t.inputArtifact, t.step, t.feedback, a.state.Context
	if visit := a.command.Location.Visit; visit > 1 {
		c.Visit = visit
	}
	c.Cycle = inputs.ReturnCounts(a.Plan, a.state, a.command.Location)
}

// previousVisitPaths returns the paths of the previous visit's files, nil for none.
func (a *attempt) previousVisitPaths(visit briefing.VisitFiles) *inputs.PreviousAttempt {
	var p inputs.PreviousAttempt
	if visit.Output != nil {
		p.Output = a.Dir.Abs(visit.Output.Path)
	}
	if visit.Artifact != nil {
		p.Artifact = a.Dir.Abs(visit.Artifact.Path)
	}
	if p == (inputs.PreviousAttempt{}) {
		return nil
	}
	return &p
}

// privateDir returns the directory that only this attempt writes to.
func (a *attempt) privateDir() string { return a.iteration.Attempt(a.command.Attempt) }

// archive moves a file of any kind, a dangling link included. A missing file is no error.
func (a *attempt) archive(name, to string) error { return ignoreNotExist(a.Dir.Rename(name, to)) }

// supersededPath returns the archive path of an earlier attempt's file.
func (a *attempt) supersededPath(name string) string {
	return a.privateDir() + "/superseded-" + filepath.Base(name)
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

// stageOutput returns the stage's copy of the iteration's output, "" for none: loops and parallel blocks have no
// copy.
func (a *attempt) stageOutput() string {
	if a.state.Mode == "loop" || a.command.Location.Branch != "" {
		return ""
	}
	return a.dir.Output(a.command.Location.Iteration, a.node.Termination.Max())
}

func (a *attempt) request(paths inputs.Paths, t promptData) (sdk.ExecuteRequest, error) {
	output, err := a.prepareDeclaredOutput()
	if err != nil {
		return sdk.ExecuteRequest{}, err
	}
	resume, err := a.resumeData()
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
	return store.DeclaredOutput(a.Plan, a.node, a.state.Session, a.command.Location)
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
