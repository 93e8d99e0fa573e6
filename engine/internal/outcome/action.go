package outcome

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/hook"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	"github.com/dodo-digital/agent-pipelines/kernel/store"
)

// These constants bound a check's answer.
const (
	maxFacts  = 1 << 20 // bytes of the file
	maxCounts = 20
)

// measure calls the action, once more if another call crashed the plugin process that both calls shared.
func (w *evaluation) measure(ctx context.Context, c plan.Check, config json.RawMessage) (sdk.HookAnswer, error) {
	return w.measureIn(ctx, c, config, w.Project.Path())
}

// measureIn is like measure, with another directory than that of the project.
func (w *evaluation) measureIn(ctx context.Context, c plan.Check, config json.RawMessage, dir string) (sdk.HookAnswer, error) {
	answer, err := w.callAction(ctx, c, config, dir)
	if errors.Is(err, pluginhost.ErrCollateralFailure) && ctx.Err() == nil {
		answer, err = w.callAction(ctx, c, config, dir)
	}
	return answer, err
}

func (w *evaluation) callAction(ctx context.Context, c plan.Check, config json.RawMessage, dir string) (sdk.HookAnswer, error) {
	timeout := plan.Seconds(c.Timeout)
	limit := hook.DefaultTimeout
	if timeout > 0 {
		limit = timeout + hook.GracePeriod
	}
	ctx, cancel := pluginhost.WithCallTimeout(ctx, limit, failure.New(failure.HookTimeout, "the check did not end within %s", cmp.Or(timeout, limit)))
	defer cancel()
	var write []string
	if dir != w.Project.Path() { // it lies below .claude
		write = []string{dir}
	}
	action, err := w.actions.HookAction(ctx, &plan.Hook{Action: plan.ActionCheck, Config: config}, w.Node, write...)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	req := w.request(c, config, timeout)
	req.WorkDir = dir
	if err := w.addArtifactPaths(c, &req); err != nil {
		return sdk.HookAnswer{}, err
	}
	answer, err := action.Run(ctx, req)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return answer, err
}

// request returns the action's request. The request's point is the hook point nearest to the check.
func (w *evaluation) request(c plan.Check, config json.RawMessage, timeout time.Duration) sdk.HookRequest {
	req := sdk.HookRequest{
		Key: w.State.RunID + "/" + string(w.Command.Key), Point: sdk.IterationEnd, Session: w.State.Session, Node: w.Node.ID, Stage: w.Node.Ref,
		Iteration: w.at.Iteration, Status: "running", Config: config, Timeout: timeout,
	}
	if c.At == plan.AtEnter {
		req.Point = sdk.StageStart
	}
	if w.Node.Provider != nil {
		req.Provider = cmp.Or(w.at.Branch, w.Node.Provider.EventName())
	}
	return req
}

// factsFile returns the path of the facts: in the iteration's directory, or in the node's for a check at the entry.
func (w *evaluation) factsFile(c plan.Check) (string, error) {
	n, err := store.NodeAt(w.Plan, w.at)
	if c.At == plan.AtEnter {
		return n.Check(c.ID), err
	}
	return n.Iteration(w.at.Iteration).Check(c.ID), err
}

// truncateCounts returns the counts within the limits of an event.
func truncateCounts(counts map[string]int) map[string]int {
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
