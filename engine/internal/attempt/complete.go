package attempt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/output"
	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
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
	a.exchange.flush()
	a.closeStreams()
	raw := a.result.Output
	if raw == "" {
		raw, _ = a.exchange.text.Text()
	}
	text, cut := output.Clean(a.Redactor.ForAgent().Text(raw))
	if cut {
		a.log.Warn("output was cut", "limit_bytes", output.Limit)
	}
	if text == "" {
		return nil, nil //nolint:nilnil // no output is no error
	}
	if failed {
		ref, err := a.Dir.Write(a.privateDir()+"/output.md", []byte(text))
		return &ref, err
	}
	ref := store.Ref(a.iteration.Output(), []byte(text))
	a.outputWrite.Go(func() { _, a.outputErr = a.Dir.Write(ref.Path, []byte(text)) })
	return &ref, a.copyOutput(text)
}

// closeStreams closes the files of the agent's event stream and stderr.
func (a *attempt) closeStreams() {
	for _, s := range []*streamFile{&a.exchange.raw, &a.exchange.stderr} {
		if err := s.close(); err != nil {
			a.log.Warn("could not write the whole stream of the agent", "file", s.name, "error", err)
		}
	}
}

// copyOutput copies the output to the stage's file of the Bash engine (pipelines only), and to the node's output_path
// unless the agent wrote that file (REQUIREMENTS U092, D24).
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
	if err == nil && !isUnchanged(a.declaredInfo, info) {
		return nil
	}
	return a.Project.Replace(name, []byte(text))
}

// isUnchanged reports whether a file is the same as before; false if before is nil.
func isUnchanged(before, now fs.FileInfo) bool {
	return before != nil && os.SameFile(before, now) && before.Size() == now.Size() && before.ModTime().Equal(now.ModTime())
}

// complete normalizes and writes the result and returns the completing event.
func (a *attempt) complete(ctx context.Context, out *event.Ref) (event.Event, error) {
	resultJSON, err := a.readAgentFile(a.outputDir.Result())
	if err != nil {
		return event.Event{}, err
	}
	statusJSON, err := a.readAgentFile(a.outputDir.Status())
	if err != nil {
		return event.Event{}, err
	}
	r, err := result.Normalize(redaction.Result(a.Redactor, resultJSON), redaction.Result(a.Redactor, statusJSON), a.node.HasContract())
	if err != nil {
		return event.Event{}, a.explainMissingResult(err)
	}
	ref, err := a.Dir.Write(a.iteration.Result(), r.Result.JSON())
	a.outputWrite.Wait()
	if err := errors.Join(err, a.outputErr); err != nil {
		return event.Event{}, err
	}
	if err := a.publishRetry(r.Result.JSON(), out); err != nil {
		return event.Event{}, err
	}
	if err := a.syncArtifact(); err != nil {
		return event.Event{}, err
	}
	if err := a.recordEnd("completed", nil, out); err != nil {
		return event.Event{}, err
	}
	a.recordWorkerComplete(ctx, ref)
	return a.completionEvent(r, ref, out)
}

// syncArtifact makes the artifact's file durable before the journal records the attempt's end: after that the agent
// does not run again, and the evaluation reads the file.
func (a *attempt) syncArtifact() error {
	if a.node.Artifact == nil || a.command.Location.Step != "" {
		return nil
	}
	return a.Dir.Sync(string(a.iteration), path.Base(a.iteration.Artifact()), path.Base(a.iteration.ArtifactJSON()))
}

// completionEvent returns the event that ends the attempt: iteration_complete, or attempt_complete if the node's
// contract still has to be evaluated.
func (a *attempt) completionEvent(r result.Reading, ref event.Ref, out *event.Ref) (event.Event, error) {
	data := event.AttemptCompleteData{
		Decision: r.Decision, AgentDecision: r.Ask, Result: ref, Output: out, Usage: a.usage(),
		Model: event.Truncate(a.result.Model, event.MaxName), AgentVersion: event.Truncate(a.result.AgentVersion, event.MaxName),
		DurationMS: time.Since(a.started).Milliseconds(),
	}
	at := a.command.Location
	e := event.New(event.AttemptComplete, at.Cursor(), a.command.Key, data)
	switch name := progress.NodeName(a.Plan, a.state, a.node); {
	case !a.node.HasContract():
		e = event.New(event.IterationComplete, at.Cursor(), a.command.Key, NewIterationComplete(name, data, r))
	case at.Step != "": // the node has the contract, the step only the agent's own outcome
		d := NewIterationComplete(name, data, r)
		var err error
		if d.Settlement, err = a.stepSettlement(r); err != nil {
			return e, err
		}
		e = event.New(event.IterationComplete, at.Cursor(), a.command.Key, d)
	}
	e.Attempt = a.command.Attempt
	return e, nil
}

// maxFeedback bounds the feedback of a step's agent, in bytes.
const maxFeedback = 64 << 10

// stepSettlement returns the outcome of a step's iteration, by the agent's own result alone.
func (a *attempt) stepSettlement(r result.Reading) (event.Settlement, error) {
	o := r.Result.Claimed(r.Ask)
	if o == plan.OutcomeSuccess {
		return event.Settlement{Outcome: string(o)}, nil
	}
	s := event.Settlement{Outcome: string(o), Message: truncateText(cmp.Or(r.Result.Why(), r.Reason, r.Result.Summary))}
	feedback := cmp.Or(strings.TrimSpace(r.Result.Feedback), r.Result.Why())
	if feedback == "" {
		return s, nil
	}
	text := event.Truncate(fmt.Sprintf("Step %s: %s", a.command.Location.Step, feedback), maxFeedback)
	ref, err := a.Dir.Write(a.iteration.Feedback(), []byte(text+"\n"))
	s.Feedback = &ref
	return s, err
}

// recordWorkerComplete records worker_complete for an agent of a parallel block, for readers of the Bash engine's
// events.
func (a *attempt) recordWorkerComplete(ctx context.Context, result event.Ref) {
	if a.command.Location.Branch == "" {
		return
	}
	e := event.New(event.WorkerComplete, a.command.Location.Cursor(), a.command.Key, event.WorkerCompleteData{ExitCode: a.result.ExitCode, Result: result})
	e.Attempt, e.Volatile = a.command.Attempt, true
	if err := a.record(ctx, e); err != nil {
		a.log.Debug("event not recorded", "type", e.Type, "error", err)
	}
}

// readAgentFile returns the agent's result or status file, nil if it wrote none. The file is read once, after the
// agent has ended.
func (a *attempt) readAgentFile(name string) ([]byte, error) {
	if a.agentFiles == nil {
		a.agentFiles = map[string]agentFile{}
	}
	file, known := a.agentFiles[name]
	if !known {
		file.text, file.err = a.readFile(name)
		a.agentFiles[name] = file
	}
	return file.text, file.err
}

// agentFile is the content of an agent's file, or the error of reading it.
type agentFile struct {
	text []byte
	err  error
}

// readFile returns a file that the agent may have written, nil if it is missing.
func (a *attempt) readFile(name string) ([]byte, error) {
	b, err := a.Dir.Read(name, result.MaxBytes)
	var known *failure.Error
	switch {
	case err == nil && b == nil:
		return []byte{}, nil
	case errors.As(err, &known): // the session's directory is missing
		return nil, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil: // the agent's fault: too large, a directory, a pipe, a link that leaves the session
		return nil, result.Unreadable(name, err)
	}
	return b, nil
}

// maxStderrDetail bounds the end of the agent's stderr in a failure, in bytes.
const maxStderrDetail = 2000

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
	return f.WithDetail(event.TruncateFront(a.Redactor.Tail(a.exchange.stderr.readTail(maxStderrDetail), maxStderrDetail), maxStderrDetail))
}

// failureEvent writes the failure to the iteration's directory and returns the error event.
func (a *attempt) failureEvent(ctx context.Context, err error) event.Event {
	d := event.NewFailureData(err)
	d.Node, d.Stage, d.Iteration, d.Attempt = a.node.ID, a.node.ID, a.command.Location.Iteration, a.command.Attempt
	d.ResumeCommand = "agent-pipelines resume " + a.state.Session
	d.Collateral, d.Escalate, d.Usage = a.Uncharged != nil && a.Uncharged(err), errors.Is(err, errUnanswered), a.usage()
	if over := (*schedule.GuardrailError)(nil); errors.As(err, &over) {
		d.ResumeCommand = over.Failure.ResumeCommand
	}
	if a.result.ExitCode != 0 {
		d.ExitCode = &a.result.ExitCode
	}
	d = redaction.Failure(a.Redactor, d)
	if a.iteration != "" {
		if err := errors.Join(a.publish(false), a.revertStatus(), a.writeError(d), a.recordEnd("failed", &d, nil)); err != nil {
			a.log.Error("could not write the failure to the iteration's directory", "error", err)
		}
	}
	a.log.Debug("attempt failed", "error_type", d.ErrorType, "message", d.Message, "cancelled", ctx.Err() != nil)
	e := event.New(event.Error, a.command.Location.Cursor(), a.command.Key, d)
	e.Attempt = a.command.Attempt
	return e
}

// revertStatus moves an archived status.json back if this attempt wrote none: users of the Bash engine expect it
// there. A result.json stays archived, because it would count as the iteration's result.
func (a *attempt) revertStatus() error {
	name := a.iteration.Status()
	if _, err := a.Dir.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := a.Dir.Rename(a.supersededPath(name), name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (a *attempt) writeError(d event.FailureData) error {
	b, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return err
	}
	return a.Dir.Replace(a.iteration.Error(), append(b, '\n'))
}

// usage returns the provider's total, else its last report.
func (a *attempt) usage() *event.Usage {
	u := a.result.Usage
	if u == nil && a.exchange != nil {
		a.exchange.mu.Lock()
		u = a.exchange.usage
		a.exchange.mu.Unlock()
	}
	if u == nil {
		return nil
	}
	converted := event.Usage(*u)
	return &converted
}

var _ sdk.Exchange = (*exchange)(nil)

// Bounds of the lists of agents in events: elements, and bytes of one.
const (
	maxList    = 200
	maxElement = 1 << 10
)

// NewIterationComplete returns the data of iteration_complete for the stage called name, from its last attempt and
// its result. The caller adds the outcome.
func NewIterationComplete(name string, last event.AttemptCompleteData, r result.Reading) event.IterationCompleteData {
	return event.IterationCompleteData{
		Decision: last.Decision, Reason: truncateText(r.Reason), AgentDecision: last.AgentDecision, Stage: name, Summary: truncateText(r.Result.Summary),
		FilesTouched: truncateList(r.Result.Work.FilesTouched), ItemsCompleted: truncateList(r.Result.Work.ItemsCompleted),
		Signals: event.Signals{
			PlateauSuspected: r.Result.Signals.PlateauSuspected, Risk: truncateText(r.Result.Signals.Risk), Notes: truncateText(r.Result.Signals.Notes),
		},
		Result: last.Result, Output: last.Output, Usage: last.Usage, Model: last.Model, AgentVersion: last.AgentVersion,
		DurationMS: last.DurationMS,
	}
}

// truncateText shortens a text for an event; the files have the whole text.
func truncateText(s string) string { return event.Truncate(s, event.MaxText) }

// truncateList returns the first maxList elements, with at most [event.MaxText] bytes in all.
func truncateList(list []string) []string {
	out := make([]string, 0, min(len(list), maxList))
	left := event.MaxText
	for _, s := range list[:min(len(list), maxList)] {
		s = event.Truncate(s, maxElement)
		b, _ := json.Marshal(s) // strings always marshal
		if left -= len(b) + len(","); left < 0 {
			break
		}
		out = append(out, s)
	}
	return out
}
