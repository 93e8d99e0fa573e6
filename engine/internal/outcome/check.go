package outcome

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/engine/internal/hook"
	"github.com/dodo-digital/agent-pipelines/engine/internal/redaction"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// Bounds of what a check says.
const (
	maxFacts  = 1 << 20 // bytes of the file
	maxCounts = 20
)

// filesKey is the key of a check's configuration with the paths of its files_from.
const filesKey = "files"

// Check makes the check that the job's command names and returns check_result, with the command's key. One that does
// not end in its time did not pass; one that could not be made has a failure.
func (s *Evaluator) Check(ctx context.Context, j Job) event.Event {
	w, started := s.work(j), time.Now()
	d := event.CheckResultData{ID: j.Command.Check, At: plan.AtExit}
	err := w.check(ctx, &d)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	switch f := failure.From(err); {
	case err == nil:
	case f.Kind == failure.HookTimeout:
		d.Passed, d.Reason, d.Facts = false, event.Truncate(f.Message, event.MaxReason), nil
	default:
		d.Passed, d.Failure = false, w.failureOf(err)
		w.log.Info("a check could not be made", "check", d.ID, "error", err)
	}
	d.DurationMS = time.Since(started).Milliseconds()
	return event.New(event.CheckResult, w.at.Cursor(), j.Command.Key, d)
}

func (w *work) check(ctx context.Context, d *event.CheckResultData) error {
	i := slices.IndexFunc(w.Node.Checks, func(c plan.Check) bool { return c.ID == w.Command.Check })
	if i < 0 {
		return failure.New(failure.Internal, "the plan has no check %q at %s", w.Command.Check, w.Node.ID)
	}
	c := w.Node.Checks[i]
	d.At = cmp.Or(c.At, plan.AtExit)
	if c.LeftOut != "" {
		d.Type, d.Passed, d.LeftOut, d.Reason = typeOf(c.Config), true, true, event.Truncate(c.LeftOut, event.MaxReason)
		return nil
	}
	config, wrong, err := w.configOf(c)
	if err != nil {
		return err
	}
	d.Type = typeOf(config)
	if wrong != "" {
		d.Reason = event.Truncate(wrong, event.MaxReason)
		return nil
	}
	answer, err := w.measure(ctx, c, config)
	if err != nil {
		return err
	}
	return w.take(answer, c, d)
}

func typeOf(config json.RawMessage) string {
	var of struct{ Type string }
	_ = json.Unmarshal(config, &of) // the action says what is wrong with it
	return event.Truncate(of.Type, event.MaxName)
}

// measure calls the action. A check that fell with another call's process is made once more.
func (w *work) measure(ctx context.Context, c plan.Check, config json.RawMessage) (sdk.HookAnswer, error) {
	answer, err := w.call(ctx, c, config)
	if err != nil && w.Uncharged != nil && w.Uncharged(err) && ctx.Err() == nil {
		answer, err = w.call(ctx, c, config)
	}
	return answer, err
}

func (w *work) call(ctx context.Context, c plan.Check, config json.RawMessage) (sdk.HookAnswer, error) {
	timeout := time.Duration(c.Timeout * float64(time.Second))
	limit := hook.Limit
	if timeout > 0 {
		limit = timeout + hook.Grace
	}
	ctx, cancel := pluginhost.WithCallTimeout(ctx, limit, failure.New(failure.HookTimeout, "the check did not end within %s", cmp.Or(timeout, limit)))
	defer cancel()
	action, err := w.Actions.HookAction(ctx, &plan.Hook{Action: plan.ActionCheck, Config: config}, w.Node)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	req := w.request(c, config, timeout)
	if err := w.nameArtifacts(c, &req); err != nil {
		return sdk.HookAnswer{}, err
	}
	answer, err := action.Run(ctx, req)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return answer, err
}

// request is what the action is told. Its point is the one nearest to the check.
func (w *work) request(c plan.Check, config json.RawMessage, timeout time.Duration) sdk.HookRequest {
	req := sdk.HookRequest{
		Key: string(w.Command.Key), Point: sdk.IterationEnd, Session: w.State.Session, Node: w.Node.ID, Stage: w.Node.Ref,
		Iteration: w.at.Iteration, Status: "running", Config: config, Timeout: timeout, WorkDir: w.Project.Path(),
	}
	if c.At == plan.AtEnter {
		req.Point = sdk.StageStart
	}
	if w.Node.Provider != nil {
		req.Provider = cmp.Or(w.at.Branch, w.Node.Provider.Said())
	}
	return req
}

// take keeps what was measured.
func (w *work) take(answer sdk.HookAnswer, c plan.Check, d *event.CheckResultData) error {
	raw, err := w.redacted(answer.Facts)
	if err != nil {
		return failure.New(failure.HookFailed, "the check %s says nothing that can be read: %w", c.ID, err)
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
	d.Facts, d.ExitCode, d.Counts = &ref, facts.ExitCode, short(facts.Counts)
	d.Passed = facts.Passed && answer.Outcome == ""
	if !d.Passed {
		d.Reason = event.Truncate(cmp.Or(facts.Reason, answer.Reason, "it did not pass"), event.MaxReason)
	}
	return nil
}

// factsFile is beside the iteration, for a check at the entry beside the node.
func (w *work) factsFile(c plan.Check) (string, error) {
	n, err := store.At(w.Plan, w.at)
	if c.At == plan.AtEnter {
		return n.Check(c.ID), err
	}
	return n.Iteration(w.at.Iteration).Check(c.ID), err
}

// redacted are facts without secrets, as one line of JSON.
func (w *work) redacted(facts json.RawMessage) (json.RawMessage, error) {
	if len(facts) > maxFacts {
		return nil, fmt.Errorf("%d bytes, at most %d are taken", len(facts), maxFacts)
	}
	var of map[string]any
	if err := json.Unmarshal(facts, &of); err != nil {
		return nil, err
	}
	if of == nil {
		return nil, fmt.Errorf("it has no facts")
	}
	return json.Marshal(redaction.Data(w.Redactor, of))
}

// short are counts as events carry them.
func short(counts map[string]int) map[string]int {
	var kept map[string]int
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		if len(kept) == maxCounts {
			break
		}
		if kept == nil {
			kept = map[string]int{}
		}
		kept[event.Truncate(key, event.MaxName)] = counts[key]
	}
	return kept
}
