package attempt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/attemptdir"
	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/engine/internal/exchange"
	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// writeOutput writes the cleaned output.md and returns its reference, nil without output. Output of a failed attempt
// goes to its own directory, which retries do not change.
func (a *attempt) writeOutput(failed bool) (*event.Ref, error) {
	if a.exchange == nil {
		return nil, nil //nolint:nilnil // no output is no error
	}
	a.exchange.Flush()
	text, cut := result.CleanOutput(a.Redactor.ForAgent().Text(cmp.Or(a.result.Output, a.exchange.Text())))
	if cut {
		a.Log.Warn("output was cut", "limit_bytes", result.OutputLimit)
	}
	if text == "" {
		return nil, nil //nolint:nilnil // no output is no error
	}
	if failed {
		ref, err := a.Dir.Write(a.files.Private()+"/output.md", []byte(text))
		return &ref, err
	}
	ref := store.Ref(a.files.Iteration.Output(), []byte(text))
	a.outputWrite.Go(func() { _, a.outputErr = a.Dir.Write(ref.Path, []byte(text)) })
	return &ref, a.copyOutput(text)
}

// copyOutput copies the output to the file where the Bash engine keeps it (pipelines only). It also copies it to the
// node's output_path, unless the agent wrote that file (REQUIREMENTS U092, D24).
func (a *attempt) copyOutput(text string) error {
	if name := a.stageOutput(); name != "" {
		if err := a.Dir.Replace(name, []byte(text)); err != nil {
			return err
		}
	}
	name := a.declaredPath()
	if name == "" {
		return nil
	}
	info, err := a.Project.Stat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && !attemptdir.IsUnchanged(a.declaredInfo, info) {
		return nil
	}
	if dir := a.linkedInto(name); dir != "" {
		return failure.New(failure.Tampered, "output_path %s leads into %s by a symbolic link", name, dir).
			WithHint("find out who made the link and remove it, then resume")
	}
	return a.Project.Replace(name, []byte(text))
}

// linkedInto returns .git or .claude if a symbolic link leads a file of the project there, else "". Git and this program run
// what they find in them.
func (a *attempt) linkedInto(name string) string {
	root, _ := filepath.EvalSymlinks(a.Project.Path())
	dir, _ := filepath.EvalSymlinks(filepath.Dir(a.Project.Abs(name)))
	rel, err := filepath.Rel(root, dir)
	first, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	if err == nil && (first == ".git" || first == ".claude") && !strings.HasPrefix(name, first+"/") {
		return first
	}
	return ""
}

// writeArtifactCall writes the artifact that a tool call delivered to a file in the iteration's directory.
func (a *attempt) writeArtifactCall() error {
	if a.exchange == nil {
		return nil
	}
	args, delivered := a.exchange.ArtifactArgs()
	if !delivered {
		return nil
	}
	return a.Dir.Replace(a.files.Iteration.ArtifactCall(), append(a.Redactor.ForAgent().JSON(args), '\n'))
}

// complete normalizes and writes the result and returns the completing event.
func (a *attempt) complete(ctx context.Context, out *event.Ref) (event.Event, error) {
	resultJSON, err := a.files.Report(a.files.Reports.Result())
	if err != nil {
		return event.Event{}, err
	}
	statusJSON, err := a.files.Report(a.files.Reports.Status())
	if err != nil {
		return event.Event{}, err
	}
	r, err := result.Normalize(redaction.Result(a.Redactor, resultJSON), redaction.Result(a.Redactor, statusJSON), a.Node.HasContract())
	if err != nil {
		return event.Event{}, a.explainMissingResult(err)
	}
	ref, err := a.Dir.Write(a.files.Iteration.Result(), r.Result.JSON())
	a.outputWrite.Wait()
	if err := errors.Join(err, a.outputErr); err != nil {
		return event.Event{}, err
	}
	if err := a.files.Publish(r.Result.JSON(), out); err != nil {
		return event.Event{}, err
	}
	if err := a.files.RecordCompleted(out); err != nil {
		return event.Event{}, err
	}
	if a.Command.Location.Branch != "" { // for readers of the Bash engine's events
		e := a.Event(event.WorkerComplete, event.WorkerCompleteData{ExitCode: a.result.ExitCode, Result: ref})
		e.Volatile = true
		a.RecordInfo(ctx, e)
	}
	return a.completionEvent(r, ref, out)
}

// completionEvent returns the event that ends the attempt: iteration_complete, or attempt_complete if the node's
// contract still has to be evaluated.
func (a *attempt) completionEvent(r result.Reading, ref event.Ref, out *event.Ref) (event.Event, error) {
	data := event.AttemptCompleteData{
		Decision: r.Decision, AgentDecision: r.Ask, Result: ref, Output: out, Usage: a.usage(),
		Model: event.Truncate(a.result.Model, event.MaxName), AgentVersion: event.Truncate(a.result.AgentVersion, event.MaxName),
		DurationMS: time.Since(a.started).Milliseconds(),
	}
	step := a.Command.Location.Step != ""
	if a.Node.HasContract() && !step {
		return a.Event(event.AttemptComplete, data), nil
	}
	d := effect.NewIterationComplete(progress.NodeName(a.Plan, a.State, a.Node), data, r)
	var err error
	if a.Node.HasContract() { // the node has the contract, the step only the agent's own outcome
		d.Settlement, err = a.stepSettlement(r)
	}
	return a.Event(event.IterationComplete, d), err
}

// stepSettlement returns the outcome of a step's iteration, by the agent's own result alone.
func (a *attempt) stepSettlement(r result.Reading) (event.Settlement, error) {
	o := r.Result.Claimed(r.Ask)
	if o == plan.OutcomeSuccess {
		return event.Settlement{Outcome: string(o)}, nil
	}
	s := event.Settlement{Outcome: string(o), Message: effect.TruncateText(cmp.Or(r.Result.Why(), r.Reason, r.Result.Summary))}
	feedback := cmp.Or(strings.TrimSpace(r.Result.Feedback), r.Result.Why())
	if feedback == "" {
		return s, nil
	}
	text := event.Truncate(fmt.Sprintf("Step %s: %s", a.Command.Location.Step, feedback), maxFeedback)
	ref, err := a.Dir.Write(a.files.Iteration.Feedback(), []byte(text+"\n"))
	s.Feedback = &ref
	return s, err
}

// explainMissingResult replaces the error of a missing result by the agent's exit code or error, if there is one.
func (a *attempt) explainMissingResult(err error) error {
	f := failure.From(err)
	if f.Kind != failure.ResultMissing {
		return err
	}
	switch {
	case a.result.ExitCode != 0:
		f = failure.New(failure.ProviderFailed, "the agent exited with %d and wrote no result.json", a.result.ExitCode)
	case a.result.Outcome == sdk.OutcomeEmpty && a.result.Error != nil:
		f = failure.New(failure.ResultMissing, "%s: %s", f.Message, a.result.Error.Message).WithHint("%s", a.result.Error.Hint)
	}
	return f.WithDetail(event.TruncateFront(a.Redactor.Tail(a.exchange.StderrTail(maxStderrDetail), maxStderrDetail), maxStderrDetail))
}

// failureEvent writes the failure to the iteration's directory and returns the error event.
func (a *attempt) failureEvent(ctx context.Context, err error) event.Event {
	d := *a.Failure(err, a.Command.Attempt)
	d.Collateral, d.Escalate, d.Usage = errors.Is(err, pluginhost.ErrCollateralFailure), errors.Is(err, exchange.ErrUnanswered), a.usage()
	if over := (*schedule.GuardrailError)(nil); errors.As(err, &over) {
		d.ResumeCommand = failure.Render(over.Failure.ResumeCommand, a.Program)
	}
	if a.result.ExitCode != 0 {
		d.ExitCode = &a.result.ExitCode
	}
	if a.files != nil {
		if err := errors.Join(a.files.PublishFailed(), a.WriteFailure(a.files.Iteration, &d), a.files.RecordFailed(d)); err != nil {
			a.Log.Error("could not write the failure to the iteration's directory", "error", err)
		}
	}
	a.Log.Debug("attempt failed", "error_type", d.ErrorType, "message", d.Message, "cancelled", ctx.Err() != nil)
	return a.Event(event.Error, d)
}

// usage returns the provider's total, else its last report.
func (a *attempt) usage() *event.Usage {
	u := a.result.Usage
	if u == nil && a.exchange != nil {
		u = a.exchange.LastUsage()
	}
	return (*event.Usage)(u)
}
