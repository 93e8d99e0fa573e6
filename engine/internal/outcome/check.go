package outcome

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Check runs the check that the request's command names and returns check_result, with the command's key. A check that
// exceeds its timeout has not passed; a check that could not run has a failure.
func (s *Evaluator) Check(ctx context.Context, r kernel.EffectRequest) event.Event {
	e, started := s.newEvaluation(r), time.Now()
	d := event.CheckResultData{ID: r.Command.Check, At: plan.AtExit}
	err := e.check(ctx, &d)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	switch f := failure.From(err); {
	case err == nil:
	case f.Kind == failure.HookTimeout:
		d.Passed, d.Reason, d.Facts = false, event.Truncate(f.Message, event.MaxReason), nil
	default:
		d.Passed, d.Failure = false, e.failureData(err)
		e.Log.Info("a check could not run", "check", d.ID, "error", err)
	}
	d.DurationMS = time.Since(started).Milliseconds()
	return e.Event(event.CheckResult, d)
}

func (w *evaluation) check(ctx context.Context, d *event.CheckResultData) error {
	i := slices.IndexFunc(w.Node.Checks, func(c plan.Check) bool { return c.ID == w.Command.Check })
	if i < 0 {
		return failure.New(failure.Internal, "the plan has no check %q at %s", w.Command.Check, w.Node.ID)
	}
	c := w.Node.Checks[i]
	d.At, d.Type = cmp.Or(c.At, plan.AtExit), event.Truncate(c.Type(), event.MaxName)
	if c.SkipReason != "" {
		d.Passed, d.Skipped, d.Reason = true, true, event.Truncate(c.SkipReason, event.MaxReason)
		return nil
	}
	config, wrong, err := w.checkConfig(c)
	if err != nil {
		return err
	}
	if wrong != "" {
		d.Reason = event.Truncate(wrong, event.MaxReason)
		return nil
	}
	measure := w.measure
	switch {
	case c.TestFirst != "":
		measure = w.measureTestFirst
	case c.Type() == plan.CheckDelivery:
		measure = w.measureDelivery
	}
	answer, err := measure(ctx, c, config)
	if err != nil {
		return err
	}
	return w.recordFacts(answer, c, d)
}

// recordFacts writes the facts of an answer to a file and adds them to the event.
func (w *evaluation) recordFacts(answer sdk.HookAnswer, c plan.Check, d *event.CheckResultData) error {
	raw, err := w.redactFacts(answer.Facts)
	if err != nil {
		return failure.New(failure.HookFailed, "the answer of check %s is unreadable: %w", c.ID, err)
	}
	facts, err := artifact.ReadFacts(raw)
	if err != nil {
		return failure.New(failure.HookFailed, "the check %s: %w", c.ID, err)
	}
	name, err := w.factsFile(c)
	if err != nil {
		return err
	}
	ref, err := w.Dir.Write(name, append(raw, '\n'))
	if err != nil {
		return err
	}
	d.Facts, d.ExitCode, d.Counts = &ref, facts.ExitCode, truncateCounts(facts.Counts)
	if facts.Evidence != nil {
		d.Code = facts.Evidence.Code
	}
	d.Passed = facts.Passed && answer.Outcome == ""
	if !d.Passed {
		d.Reason = event.Truncate(cmp.Or(failure.OneLine(facts.Reason), answer.Reason, "it did not pass"), event.MaxReason)
	}
	return nil
}

// redactFacts returns the facts without secrets, as one line of JSON.
func (w *evaluation) redactFacts(facts json.RawMessage) (json.RawMessage, error) {
	if len(facts) > maxFacts {
		return nil, fmt.Errorf("%d bytes, more than the limit of %d", len(facts), maxFacts)
	}
	var decoded map[string]any
	if err := json.Unmarshal(facts, &decoded); err != nil {
		return nil, err
	}
	if decoded == nil {
		return nil, fmt.Errorf("it has no facts")
	}
	return json.Marshal(redaction.Data(w.Redactor, decoded))
}
