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

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/output"
	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/engine/internal/result"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// keepOutput writes output.md, cleaned, and returns its reference, nil if the agent said nothing. A
// failed attempt's output is kept in its own directory, where the next attempt leaves it alone.
func (a *attempt) keepOutput(failed bool) (*event.Ref, error) {
	if a.exchange == nil {
		return nil, nil //nolint:nilnil // no output is no error
	}
	a.exchange.flush()
	a.keepStreams()
	raw := a.result.Output
	if raw == "" {
		raw, _ = a.exchange.text.Text()
	}
	text, cut := output.Clean(a.Redactor.Agent().Text(raw))
	if cut {
		a.log.Warn("output was cut", "limit_bytes", output.Limit)
	}
	if text == "" {
		return nil, nil //nolint:nilnil // no output is no error
	}
	if failed {
		ref, err := a.Dir.Write(a.private()+"/output.md", []byte(text))
		return &ref, err
	}
	ref := store.Ref(a.iteration.Output(), []byte(text))
	a.keeping.Go(func() { _, a.notKept = a.Dir.Write(ref.Path, []byte(text)) })
	return &ref, a.copyOutput(text)
}

// keepStreams ends the files of the agent's own event stream and diagnostics.
func (a *attempt) keepStreams() {
	for _, s := range []*spool{&a.exchange.raw, &a.exchange.stderr} {
		if err := s.close(); err != nil {
			a.log.Warn("a stream of the agent was not kept whole", "file", s.name, "error", err)
		}
	}
}

// copyOutput puts the output where Bash has it at the stage, in pipelines, and where the node
// declares it, unless the agent wrote that file itself (REQUIREMENTS U092, D24).
func (a *attempt) copyOutput(text string) error {
	if name := a.mirrored(); name != "" {
		if err := a.Dir.Replace(name, []byte(text)); err != nil {
			return err
		}
	}
	name := a.outputName()
	if name == "" {
		return nil
	}
	info, err := a.Project.Stat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && !unchanged(a.declared, info) {
		return nil
	}
	return a.Project.Replace(name, []byte(text))
}

// unchanged reports whether a file is still the one that lay there before, nil for none.
func unchanged(before, now fs.FileInfo) bool {
	return before != nil && os.SameFile(before, now) && before.Size() == now.Size() && before.ModTime().Equal(now.ModTime())
}

// settle normalizes the result, writes it and makes the completing event.
func (a *attempt) settle(ctx context.Context, out *event.Ref) (event.Event, error) {
	resultJSON, err := a.said(a.reports.Result())
	if err != nil {
		return event.Event{}, err
	}
	statusJSON, err := a.said(a.reports.Status())
	if err != nil {
		return event.Event{}, err
	}
	r, err := result.Normalize(redaction.Result(a.Redactor, resultJSON), redaction.Result(a.Redactor, statusJSON), a.node.HasContract())
	if err != nil {
		return event.Event{}, a.explain(err)
	}
	ref, err := a.Dir.Write(a.iteration.Result(), r.Result.JSON())
	a.keeping.Wait()
	if err := errors.Join(err, a.notKept); err != nil {
		return event.Event{}, err
	}
	if err := a.keepApart(r.Result.JSON(), out); err != nil {
		return event.Event{}, err
	}
	if err := a.keepArtifact(); err != nil {
		return event.Event{}, err
	}
	if err := a.recordEnd("completed", nil, out); err != nil {
		return event.Event{}, err
	}
	a.tellBlock(ctx, ref)
	return a.completed(r, ref, out)
}

// keepArtifact makes the file durable in which the agent left its artifact, before the journal says that the attempt is over: from
// then on nobody asks the agent again, and what it left is read by whoever settles the iteration.
func (a *attempt) keepArtifact() error {
	if a.node.Artifact == nil || a.command.Location.Step != "" {
		return nil
	}
	return a.Dir.Sync(string(a.iteration), path.Base(a.iteration.Artifact()), path.Base(a.iteration.ArtifactJSON()))
}

// completed is the event that ends the attempt: the iteration's end, unless its outcome is still to be settled.
func (a *attempt) completed(r result.Reading, ref event.Ref, out *event.Ref) (event.Event, error) {
	made := event.AttemptCompleteData{
		Decision: r.Decision, Ask: r.Ask, Result: ref, Output: out, Usage: a.usage(),
		Model: event.Truncate(a.result.Model, event.MaxName), AgentVersion: event.Truncate(a.result.AgentVersion, event.MaxName),
		DurationMS: time.Since(a.started).Milliseconds(),
	}
	at := a.command.Location
	e := event.New(event.AttemptComplete, at.Cursor(), a.command.Key, made)
	switch name := schedule.NodeName(a.Plan, a.state, a.node); {
	case !a.node.HasContract():
		e = event.New(event.IterationComplete, at.Cursor(), a.command.Key, Completed(name, made, r))
	case at.Step != "": // its node has the contract: what the agent says is all there is
		d := Completed(name, made, r)
		var err error
		if d.Settlement, err = a.claimed(r); err != nil {
			return e, err
		}
		e = event.New(event.IterationComplete, at.Cursor(), a.command.Key, d)
	}
	e.Attempt = a.command.Attempt
	return e, nil
}

// maxFeedback bounds what a step's agent has to say to whoever works next, in bytes.
const maxFeedback = 64 << 10

// claimed is the settlement of an iteration of a step by its agent's word alone.
func (a *attempt) claimed(r result.Reading) (event.Settlement, error) {
	o := r.Result.Claimed(r.Ask)
	if o == plan.OutcomeSuccess {
		return event.Settlement{Outcome: string(o)}, nil
	}
	s := event.Settlement{Outcome: string(o), Message: brief(cmp.Or(r.Result.Why(), r.Reason, r.Result.Summary))}
	words := cmp.Or(strings.TrimSpace(r.Result.Feedback), r.Result.Why())
	if words == "" {
		return s, nil
	}
	text := event.Truncate(fmt.Sprintf("Step %s: %s", a.command.Location.Step, words), maxFeedback)
	ref, err := a.Dir.Write(a.iteration.Feedback(), []byte(text+"\n"))
	s.Feedback = &ref
	return s, err
}

// tellBlock tells readers of the Bash engine's events that an agent of a parallel block is done.
func (a *attempt) tellBlock(ctx context.Context, result event.Ref) {
	if a.command.Location.Branch == "" {
		return
	}
	e := event.New(event.WorkerComplete, a.command.Location.Cursor(), a.command.Key, event.WorkerCompleteData{ExitCode: a.result.ExitCode, Result: result})
	e.Attempt, e.Volatile = a.command.Attempt, true
	if err := a.record(ctx, e); err != nil {
		a.log.Debug("event not recorded", "type", e.Type, "error", err)
	}
}

// said is what the agent wrote as its result or its status, read once when it is done; nil if it wrote none.
func (a *attempt) said(name string) ([]byte, error) {
	if a.words == nil {
		a.words = map[string]words{}
	}
	w, known := a.words[name]
	if !known {
		w.text, w.err = a.read(name)
		a.words[name] = w
	}
	return w.text, w.err
}

// words are what was in a file of the agent's.
type words struct {
	text []byte
	err  error
}

// read returns a file that the agent may have written, nil if it did not.
func (a *attempt) read(name string) ([]byte, error) {
	b, err := a.Dir.Read(name, result.MaxBytes)
	var known *failure.Error
	switch {
	case err == nil && b == nil:
		return []byte{}, nil
	case errors.As(err, &known): // the session's directory is gone
		return nil, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil: // too large, a directory, a pipe, a link that leads out: the agent's doing
		return nil, result.Unreadable(name, err)
	}
	return b, nil
}

// stderrKept is how much of the end of an agent's stderr goes into a failure, in bytes.
const stderrKept = 2000

// explain says of a missing result what the agent did instead.
func (a *attempt) explain(err error) error {
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
	return f.WithDetail(event.TruncateFront(a.Redactor.Tail(a.exchange.stderr.end(stderrKept), stderrKept), stderrKept))
}

// failed records the failure beside the iteration and makes the error event.
func (a *attempt) failed(ctx context.Context, err error) event.Event {
	d := event.FailureOf(err)
	d.Node, d.Stage, d.Iteration, d.Attempt = a.node.ID, a.node.ID, a.command.Location.Iteration, a.command.Attempt
	d.ResumeCommand = "agent-pipelines resume " + a.state.Session
	d.Collateral, d.Escalate, d.Usage = a.Uncharged != nil && a.Uncharged(err), errors.Is(err, errUnanswered), a.usage()
	if over := (*schedule.Overrun)(nil); errors.As(err, &over) {
		d.ResumeCommand = over.Failure.ResumeCommand
	}
	if a.result.ExitCode != 0 {
		d.ExitCode = &a.result.ExitCode
	}
	d = redaction.Failure(a.Redactor, d)
	if a.iteration != "" {
		if err := errors.Join(a.publish(false), a.putBack(), a.writeError(d), a.recordEnd("failed", &d, nil)); err != nil {
			a.log.Error("record failure beside the iteration", "error", err)
		}
	}
	a.log.Debug("attempt failed", "error_type", d.ErrorType, "message", d.Message, "cancelled", ctx.Err() != nil)
	e := event.New(event.Error, a.command.Location.Cursor(), a.command.Key, d)
	e.Attempt = a.command.Attempt
	return e
}

// putBack returns a status.json that was set aside to its place, where the Bash engine's users look for it, if
// the attempt that it was set aside for wrote none. A result.json stays aside: there it would be the iteration's.
func (a *attempt) putBack() error {
	name := a.iteration.Status()
	if _, err := a.Dir.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := a.Dir.Rename(a.superseded(name), name); !errors.Is(err, fs.ErrNotExist) {
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

// usage is the provider's total, else what it reported last on the way.
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
