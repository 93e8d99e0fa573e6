package verify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/verify/internal/subprocess"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// fire runs the action once. An invalid answer is an error.
func (t *trial) fire(ctx context.Context, s *subprocess.Session, c sdk.Component, one HookCase, key string) (sdk.HookAnswer, error) {
	ctx, cancel := subprocess.WithTimeout(ctx, workLimit)
	defer cancel()
	request := one.Request
	request.Key, request.Session, request.WorkDir = key, cmp.Or(request.Session, "verify"), cmp.Or(request.WorkDir, t.dir)
	request.Point, request.Iteration = cmp.Or(one.Point, request.Point, sdk.IterationEnd), cmp.Or(request.Iteration, 1)
	request.Node, request.Stage = cmp.Or(request.Node, "node"), cmp.Or(request.Stage, "stage")
	request.Status, request.Message = cmp.Or(request.Status, "running"), cmp.Or(request.Message, "verify")
	request.Config = firstJSON(one.Config, request.Config, t.opts.Cases.HookActions[c.Name].Config)
	a, err := s.Client.HookAction(c).Run(ctx, request)
	if err != nil {
		return a, errors.New(explain(ctx, s, err))
	}
	return a, illegalAnswer(request.Point, a)
}

// illegalAnswer returns an error for an answer that breaks the rules on which the kernel relies.
// The zero answer continues.
func illegalAnswer(point sdk.HookPoint, a sdk.HookAnswer) error {
	switch cmp.Or(a.Action, sdk.ActionContinue) {
	case sdk.ActionContinue, sdk.ActionAbort:
	case sdk.ActionPause, sdk.ActionRestartStage, sdk.ActionModifyContext:
		if point == sdk.SessionEnd {
			return fmt.Errorf("%s at session_end, which allows no action", a.Action)
		}
	default:
		return fmt.Errorf("unknown action %q", a.Action)
	}
	if len(a.Facts) > 0 && !isObject(a.Facts) {
		return fmt.Errorf("the facts are not a JSON object: %s", subprocess.Shorten(string(a.Facts)))
	}
	return nil
}

// isObject reports whether raw is a JSON object.
func isObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}

func (c HookCase) title(i int) string { return cmp.Or(c.Name, fmt.Sprintf("firing %d", i+1)) }

func checkAnswers(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	cases := t.opts.Cases.HookActions[c.Name]
	for i, one := range cases.Firings {
		a, err := t.fire(ctx, s, c, one, subprocess.NewMarker())
		switch {
		case err != nil:
			return fail("answer with continue, pause, abort, restart_stage or modify_context, or leave the action empty", "%s: %s", one.title(i), subprocess.Shorten(err.Error()))
		case one.Want != "" && cmp.Or(a.Action, sdk.ActionContinue) != one.Want:
			return fail("correct the action, or the case", "%s: got %s (%s), want %s", one.title(i), a.Action, subprocess.Shorten(a.Reason), one.Want)
		}
	}
	return pass("%d firings", len(cases.Firings))
}

// checkSameKey checks a second firing with the same key, as the kernel sends it after a crash.
func checkSameKey(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	const do = "use the request's key as the idempotency key of the effect"
	cases := t.opts.Cases.HookActions[c.Name]
	for i, one := range cases.Firings {
		key := subprocess.NewMarker()
		first, err := t.fire(ctx, s, c, one, key)
		if err != nil {
			return fail(do, "%s: %s", one.title(i), subprocess.Shorten(err.Error()))
		}
		second, err := t.fire(ctx, s, c, one, key)
		if err != nil {
			return fail(do, "%s, again: %s", one.title(i), subprocess.Shorten(err.Error()))
		}
		if first.Action != second.Action {
			return fail(do, "%s: first %s, again %s", one.title(i), cmp.Or(first.Action, "nothing"), cmp.Or(second.Action, "nothing"))
		}
	}
	return pass("%d firings, each twice", len(cases.Firings))
}

func (t *trial) slowRun(slow json.RawMessage, limit time.Duration) sdk.HookRequest {
	return sdk.HookRequest{
		Key: subprocess.NewMarker(), Point: sdk.IterationEnd, Session: "verify", Node: "node", Iteration: 1,
		Config: slow, WorkDir: t.dir, Timeout: limit,
	}
}

// checkHookTimeout checks that an action ends its work at its time limit and reports the timeout.
func checkHookTimeout(ctx context.Context, t *trial, s *subprocess.Session, c sdk.Component) finding {
	const do = "end the work of the action timeout_ms after its start, with a failure of kind hook_timeout"
	const limit = time.Second
	begun := time.Now()
	ctx, cancel := subprocess.WithTimeout(ctx, limit+subprocess.Grace+subprocess.Slack)
	defer cancel()
	_, err := s.Client.HookAction(c).Run(ctx, t.slowRun(t.opts.Cases.HookActions[c.Name].Slow, limit))
	took := time.Since(begun)
	switch {
	case ctx.Err() != nil:
		return fail(do, "it still runs %s after a limit of %s", subprocess.Grace+subprocess.Slack, limit)
	case err == nil && took < limit:
		return skip("a configuration slow with which it runs for more than a minute", "it ended after %d ms", took.Milliseconds())
	case err == nil:
		return fail(do, "it claims success after %d ms", took.Milliseconds())
	case failure.KindOf(err) != failure.HookTimeout:
		return fail(do, "it ended as %s: %s", failure.KindOf(err), explain(ctx, s, err))
	}
	return pass("ended after %d ms, the limit was %d ms", took.Milliseconds(), limit.Milliseconds())
}
