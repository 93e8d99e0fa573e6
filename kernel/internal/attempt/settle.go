package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/output"
	"github.com/dodo-digital/agent-pipelines/kernel/internal/result"
)

// maxText bounds texts of agents in events, in bytes; the files hold them whole.
const maxText = 8 << 10

// maxList bounds lists of agents in events.
const maxList = 200

// keepOutput writes output.md, cleaned, and returns its reference, nil if the agent said nothing. A
// failed attempt's output is kept in its own directory, where the next attempt leaves it alone.
func (a *attempt) keepOutput(failed bool) (*event.Ref, error) {
	if a.exchange == nil {
		return nil, nil //nolint:nilnil // no output is no error
	}
	if err := a.keepStreams(); err != nil {
		return nil, err
	}
	raw := a.result.Output
	if raw == "" {
		raw, _ = a.exchange.text.Text()
	}
	text, cut := output.Clean(raw)
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
	ref, err := a.Dir.Write(a.iteration.Output(), []byte(text))
	if err != nil {
		return nil, err
	}
	return &ref, a.copyOutput(text)
}

// keepStreams keeps the agent's own event stream and diagnostics beside the output.
func (a *attempt) keepStreams() error {
	for name, b := range map[string]*output.Buffer{"stream.jsonl": &a.exchange.raw, "stderr.txt": &a.exchange.stderr} {
		text, dropped := b.Text()
		if text == "" {
			continue
		}
		if dropped > 0 {
			text += fmt.Sprintf("\n[%d bytes dropped]\n", dropped)
		}
		if err := a.Dir.Replace(a.private()+"/"+name, []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// copyOutput puts the output where Bash has it at the stage, in pipelines, and where the node
// declares it, unless the agent wrote that file itself (REQUIREMENTS U092, D24).
func (a *attempt) copyOutput(text string) error {
	if a.state.Mode != "loop" {
		name := a.dir.Output(a.command.Place.Iteration, a.node.Termination.Max())
		if err := a.Dir.Replace(name, []byte(text)); err != nil {
			return err
		}
	}
	name := a.outputName()
	if name == "" {
		return nil
	}
	info, err := a.Project.Stat(name)
	if err == nil && !info.ModTime().Before(a.started.Truncate(time.Second)) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return a.Project.Replace(name, []byte(text))
}

// settle normalizes the result, writes it and makes the completing event.
func (a *attempt) settle(out *event.Ref) (event.Event, error) {
	resultJSON, err := a.read(a.iteration.Result())
	if err != nil {
		return event.Event{}, err
	}
	statusJSON, err := a.read(a.iteration.Status())
	if err != nil {
		return event.Event{}, err
	}
	r, err := result.Normalize(resultJSON, statusJSON)
	if err != nil {
		return event.Event{}, a.explain(err)
	}
	ref, err := a.Dir.Write(a.iteration.Result(), r.Result.JSON())
	if err != nil {
		return event.Event{}, err
	}
	if err := a.recordEnd("completed", nil, out); err != nil {
		return event.Event{}, err
	}
	e := event.New(event.IterationComplete, a.command.Place.Cursor(), a.command.Key, a.completed(r, ref, out))
	e.Attempt = a.command.Attempt
	return e, nil
}

func (a *attempt) completed(r result.Reading, ref event.Ref, out *event.Ref) event.IterationCompleteData {
	return event.IterationCompleteData{
		Decision: r.Decision, Reason: short(r.Reason), Ask: r.Ask, Stage: a.node.ID, Summary: short(r.Result.Summary),
		FilesTouched: shortList(r.Result.Work.FilesTouched), ItemsCompleted: shortList(r.Result.Work.ItemsCompleted),
		Signals: event.Signals{
			PlateauSuspected: r.Result.Signals.PlateauSuspected, Risk: short(r.Result.Signals.Risk), Notes: short(r.Result.Signals.Notes),
		},
		Result: ref, Output: out, Usage: a.usage(), Model: a.result.Model, AgentVersion: a.result.AgentVersion,
		DurationMS: time.Since(a.started).Milliseconds(),
	}
}

func (a *attempt) read(name string) ([]byte, error) {
	b, err := a.Dir.Read(name, result.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if b == nil && err == nil {
		b = []byte{}
	}
	return b, err
}

// explain says of a missing result what the agent did instead.
func (a *attempt) explain(err error) error {
	f := failure.From(err)
	if f.Kind != failure.ResultMissing {
		return err
	}
	stderr, _ := a.exchange.stderr.Text()
	if a.result.ExitCode != 0 {
		f = failure.New(failure.ProviderFailed, "the agent exited with %d and wrote no result.json", a.result.ExitCode)
	}
	return f.WithDetail(tail(stderr, 2000))
}

// failed records the failure beside the iteration and makes the error event.
func (a *attempt) failed(ctx context.Context, err error) event.Event {
	f := failure.From(err)
	d := event.FailureData{
		Code: f.Code(), ErrorType: string(f.Kind), Message: short(f.Message), Retryable: f.Retryable, RetryAfter: f.RetryAfterSeconds,
		Node: a.node.ID, Stage: a.node.ID, Iteration: a.command.Place.Iteration, Attempt: a.command.Attempt,
		Detail: tail(f.Detail, maxText), Remedy: short(f.Hint), ResumeCommand: "agent-pipelines resume " + a.state.Session,
		Collateral: a.Spared != nil && a.Spared(err), Usage: a.usage(),
	}
	if d.ErrorType == "" {
		d.ErrorType = string(failure.Internal)
	}
	if a.result.ExitCode != 0 {
		d.ExitCode = &a.result.ExitCode
	}
	if a.iteration != "" {
		if err := errors.Join(a.recordEnd("failed", &d, nil), a.writeError(d)); err != nil {
			a.log.Error("record failure beside the iteration", "error", err)
		}
	}
	a.log.Debug("attempt failed", "error_type", d.ErrorType, "message", d.Message, "cancelled", ctx.Err() != nil)
	e := event.New(event.Error, a.command.Place.Cursor(), a.command.Key, d)
	e.Attempt = a.command.Attempt
	return e
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

func short(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "… [cut, the file has all of it]"
}

func shortList(list []string) []string {
	out := make([]string, 0, min(len(list), maxList))
	size := 0
	for _, s := range list[:min(len(list), maxList)] {
		if size += len(s); size > maxText {
			break
		}
		out = append(out, s)
	}
	return out
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "…" + strings.ToValidUTF8(s[len(s)-n:], "")
}

var _ sdk.Exchange = (*exchange)(nil)
