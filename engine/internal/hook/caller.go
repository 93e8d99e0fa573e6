package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine/internal/artifact"
	"github.com/dodo-digital/agent-pipelines/kernel"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/kernel/condition"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/failpoint"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
)

// Call calls the hook that the request's command names and returns the event that ends the call, with the command's
// key: hook_skipped, hook_complete, hook_timeout, or question_asked.
func (c *Caller) Call(ctx context.Context, r kernel.EffectRequest) event.Event {
	k := &call{
		caller: c, hook: schedule.FindHook(c.Plan, r.Command.Location, r.Command.Hook), point: r.Command.Point,
		at: r.Command.Location, node: schedule.NodeAt(c.Plan, r.State, r.Command.Location, r.Command.Point), started: time.Now(),
	}
	k.Effect = c.New("hook", r, "hook", r.Command.Hook, "point", string(k.point), "action", k.actionName())
	if q, asked := r.State.Questions[event.QuestionID(r.Command.Key)]; asked && q.Answer != nil {
		return k.applyAnswer(q)
	}
	if reason, warning := k.skipReason(); reason != "" {
		if warning {
			k.Log.Warn("hook skipped", "reason", reason)
		}
		e := k.Event(event.HookSkipped, event.HookSkippedData{Hook: r.Command.Hook, Point: string(k.point), Reason: event.Truncate(reason, event.MaxText), Warning: warning})
		e.Volatile = true
		return e
	}
	if err := r.Record(ctx, k.Event(event.HookStart, event.HookStartData{Hook: r.Command.Hook, Point: string(k.point), Action: k.actionName()})); err != nil {
		return k.failureEvent(failure.New(failure.SignalInterrupt, "the run no longer waits for the hook: %w", err))
	}
	failpoint.Point("hook.started")
	return k.perform(ctx)
}

// skipReason returns the reason why the hook is not called, "" if it is called. A warning is about an invalid
// condition.
func (k *call) skipReason() (reason string, warning bool) {
	if k.hook == nil || k.hook.Condition == "" {
		return "", false
	}
	c, err := condition.Parse(k.hook.Condition)
	if err != nil {
		return err.Error(), true
	}
	holds, err := c.Eval(k.conditionVars())
	switch {
	case err != nil:
		return err.Error(), true
	case !holds:
		return "the condition does not hold: " + k.hook.Condition, false
	default:
		return "", false
	}
}

// perform performs the action.
func (k *call) perform(ctx context.Context) event.Event {
	switch k.actionName() {
	case plan.ActionPause:
		return k.complete(sdk.HookAnswer{Action: sdk.ActionPause, Reason: k.hook.Message})
	case plan.ActionConfirm:
		return k.askQuestion(false)
	}
	if k.hook != nil { // a callback has no timeout
		limit := DefaultTimeout
		if k.hook.Timeout > 0 {
			limit = plan.Seconds(k.hook.Timeout) + GracePeriod
		}
		var cancel context.CancelFunc
		ctx, cancel = pluginhost.WithCallTimeout(ctx, limit, failure.New(failure.HookTimeout, "no answer within %s", limit))
		defer cancel()
	}
	answer, err := k.run(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	failpoint.Point("hook.answered")
	if err == nil {
		err = k.addMeasured(ctx, answer.Facts)
	}
	if err != nil {
		return k.failureEvent(err)
	}
	return k.complete(answer)
}

// addMeasured adds the fields that an action measured at the end of a stage, in the member artifact of its facts, to the node's
// artifact. The node's contract must name them in kernel_fields.
func (k *call) addMeasured(ctx context.Context, facts json.RawMessage) error {
	var measured struct{ Artifact map[string]any }
	_ = json.Unmarshal(facts, &measured) // the action defines the other members
	if k.point != plan.PointStageEnd || len(measured.Artifact) == 0 {
		return nil
	}
	ref, made := k.State.NodeArtifact(k.at.Outer())
	if !made || k.node.Artifact == nil {
		return failure.New(failure.HookFailed, "it measured fields of an artifact, and %s made none", k.node.ID)
	}
	a, err := artifact.Load(k.Dir, ref)
	if err != nil {
		return err
	}
	for name, value := range measured.Artifact {
		if _, declared := k.node.Artifact.KernelFields[name]; !declared {
			return failure.New(failure.HookFailed, "it measured %s, which artifact.kernel_fields of %s does not name", name, k.node.ID)
		}
		a.Data[name] = value
	}
	faults, err := artifact.Faults(a.Data, k.node.Artifact)
	if err == nil && len(faults) > 0 {
		err = artifact.InvalidError("the artifact with the measured fields", faults)
	}
	if err != nil {
		return err
	}
	if ref, err = artifact.WriteMeasured(k.Dir, k.Plan, k.at, k.Command.Hook, a); err != nil {
		return err
	}
	return k.Record(ctx, k.Event(event.ArtifactWritten, event.ArtifactWrittenData{Name: event.Artifact, Ref: ref}))
}

func (k *call) run(ctx context.Context) (sdk.HookAnswer, error) {
	req, err := k.request()
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	if k.hook == nil {
		return k.runCallback(ctx, req)
	}
	action, err := k.caller.Actions.HookAction(ctx, k.hook, k.node)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	return action.Run(ctx, req)
}

// runCallback calls a function of the program and returns its panic as an error.
func (k *call) runCallback(ctx context.Context, req sdk.HookRequest) (answer sdk.HookAnswer, err error) {
	i := k.Command.Hook - schedule.CallbackNumber(0)
	if i < 0 || i >= len(k.caller.Callbacks) {
		return answer, fmt.Errorf("this program has no callback %d", i)
	}
	defer func() {
		if p := recover(); p != nil {
			err = panicError(p)
		}
	}()
	m := CallbackRequest{Request: req, State: k.State}
	if name, err := k.ProgressFile(); err == nil && k.node != nil {
		text, _ := k.Dir.Read(name, maxProgress) // absent before the first iteration
		m.Progress = string(text)
	}
	return k.caller.Callbacks[i].Call(ctx, m), nil
}
