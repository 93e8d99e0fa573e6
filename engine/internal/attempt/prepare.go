package attempt

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	briefing "github.com/dodo-digital/agent-pipelines/engine/internal/contextstrategy"
	"github.com/dodo-digital/agent-pipelines/engine/internal/inputs"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// prepare creates the iteration's directory and context.json and returns the request. It archives result and output
// of an earlier attempt, and reports that attempt's changes.
func (a *attempt) prepare(ctx context.Context) (sdk.ExecuteRequest, error) {
	var err error
	if a.dir, err = store.NodeAt(a.Plan, a.command.Location); err != nil {
		return sdk.ExecuteRequest{}, err
	}
	a.iteration = a.dir.Iteration(a.command.Location.Iteration)
	a.outputDir = a.chooseOutputDir()
	a.Restore(ctx, a.record)
	a.Published.forget(a.iteration)
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
	a.outputWrite.Go(func() { _ = a.Dir.SyncParents(string(a.iteration)) }) // concurrently with the agent; later writes report their own errors
	a.recordPromptBudget(ctx, data)
	data.prompt = a.Redactor.ForAgent().Text(data.prompt)
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
		scope, err := store.ProviderAt(a.Plan, at)
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
