package attempt

import (
	"context"
	"path/filepath"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/attemptdir"
	"github.com/dodo-digital/agent-pipelines/engine/internal/contextstrategy"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/engine/internal/prompt"
	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// prepare opens the attempt's files, writes context.json and returns the request.
func (a *attempt) prepare(ctx context.Context) (sdk.ExecuteRequest, error) {
	var none sdk.ExecuteRequest
	var err error
	if a.files, err = attemptdir.Open(ctx, a.Effect, &a.runner.Attempts); err != nil {
		return none, err
	}
	if name := a.stageOutput(); name != "" { // like tee in Bash: empty while the agent runs and after a crash
		if err := a.Dir.Clear(name); err != nil {
			return none, err
		}
	}
	if a.progress, err = a.ensureProgress(); err != nil {
		return none, err
	}
	c, err := a.Inputs.Build(a.State, a.Node, a.Command.Location, a.progress)
	if err != nil {
		return none, err
	}
	f := a.files
	c.Paths.Status, c.Paths.Result = a.Dir.Abs(f.Reports.Status()), a.Dir.Abs(f.Reports.Result())
	source := a.promptSource(c.Paths)
	data, promptErr := source.Build(ctx)
	a.addToContext(&c, data)
	if err := f.WriteContext(redaction.Context(a.Redactor, c)); err != nil {
		return none, err
	}
	if promptErr != nil {
		return none, promptErr
	}
	a.outputWrite.Go(func() { _ = a.Dir.SyncParents(string(f.Iteration)) }) // concurrently with the agent; later writes report their own errors
	source.RecordBudget(ctx, data)
	output, err := a.prepareDeclaredOutput()
	if err != nil {
		return none, err
	}
	return newRequest(a.Effect, sdk.Paths{
		Context: a.Dir.Abs(f.Iteration.Context()), Status: c.Paths.Status, Result: c.Paths.Result,
		Progress: c.Paths.Progress, Output: output, Attempt: a.Dir.Abs(f.Private()),
	}, data)
}

// promptSource returns the source of the attempt's prompt.
func (a *attempt) promptSource(paths inputs.Paths) *prompt.Source {
	s := &prompt.Source{
		Effect: a.Effect, Paths: paths, Context: a.Dir.Abs(a.files.Iteration.Context()), OutputPath: a.declaredPath(), Artifact: a.files.Reports.Artifact(),
		Providers: a.runner.Providers,
	}
	if len(a.Loop().Faults) > 0 {
		s.FaultyArtifact = a.files.ArchivedArtifact()
	}
	if name := a.stageOutput(); name != "" {
		s.StageOutput = a.Dir.Abs(name)
	}
	return s
}

// addToContext adds the prompt's data about the budget, the previous visit and the contract to the context.
func (a *attempt) addToContext(c *inputs.Context, d prompt.Data) {
	c.Budget, c.PreviousAttempt = d.Budget, a.previousVisitPaths(d.PreviousVisit)
	if !a.Node.HasContract() {
		return
	}
	if d.Artifact.Path != "" {
		c.Artifact = &d.Artifact
	}
	c.InputArtifact, c.Step, c.Feedback, c.Resolution = d.InputArtifact, d.Step, d.Feedback, a.State.Context
	if visit := a.Command.Location.Visit; visit > 1 {
		c.Visit = visit
	}
	c.Cycle = inputs.ReturnCounts(a.Plan, a.State, a.Command.Location)
}

// previousVisitPaths returns the paths of the previous visit's files, nil for none.
func (a *attempt) previousVisitPaths(visit contextstrategy.VisitFiles) *inputs.PreviousAttempt {
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

func (a *attempt) ensureProgress() (string, error) {
	switch at := a.Command.Location; {
	case at.Branch != "":
		scope, err := store.ProviderAt(a.Plan, at)
		if err != nil {
			return "", err
		}
		return a.Dir.EnsureProviderProgress(scope, at.Branch)
	case a.State.Mode == "loop":
		return a.Dir.EnsureSessionProgress()
	default:
		return a.Dir.EnsureStageProgress(a.files.NodeDir)
	}
}

// stageOutput returns the file of the stage's copy of the iteration's output. It returns "" in loops and parallel
// blocks, which have no copy.
func (a *attempt) stageOutput() string {
	if a.State.Mode == "loop" || a.Command.Location.Branch != "" {
		return ""
	}
	return a.files.NodeDir.Output(a.Command.Location.Iteration, a.Node.Termination.Max())
}

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
	return store.OutputPath(a.Plan, a.Node, a.State.Session, a.Command.Location)
}
