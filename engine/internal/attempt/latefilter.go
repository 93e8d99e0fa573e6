package attempt

import (
	"context"
	"slices"
	"sync"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// maxLateTools limits the tools that a late delivery names.
const maxLateTools = 20

// lateFilter is the exchange of an attempt that may be abandoned. After that, tool calls are denied, observed calls
// are not journaled, and deliveries are counted for [event.LateDelivery]. Output still goes to the attempt's own
// files, and usage is charged, until the provider returns. It is safe for concurrent use.
type lateFilter struct {
	*exchange
	attemptCtx context.Context //nolint:containedctx // done when the attempt is abandoned; used for nothing else

	mu     sync.Mutex // guards:
	closed bool       // the provider has returned
	reason string     // the kind of failure that ended the attempt before closed, "" for none
	late   []event.LateDeliveryData
}

// countLate counts a late delivery. It reports whether the delivery is late, and whether the provider has already
// returned.
func (c *lateFilter) countLate(kind string, bytes int, tool string) (late, closed bool) {
	if closed = c.isClosed(); c.attemptCtx.Err() == nil && !closed {
		return false, false
	}
	if kind != "" {
		if d := c.add(kind, bytes, tool); closed && d.Count == 1 { // close has already recorded the others
			c.attempt.recordLateDelivery(d)
		}
	}
	return true, closed
}

// add counts a delivery of its kind and returns the totals of that kind.
func (c *lateFilter) add(kind string, bytes int, tool string) event.LateDeliveryData {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.late, func(d event.LateDeliveryData) bool { return d.Kind == kind })
	if i < 0 {
		i = len(c.late)
		c.late = append(c.late, event.LateDeliveryData{Kind: kind, GivenUp: c.reason})
	}
	d := &c.late[i]
	d.Count++
	d.Bytes += int64(bytes)
	if tool = event.Truncate(tool, event.MaxName); tool != "" && len(d.Tools) < maxLateTools && !slices.Contains(d.Tools, tool) {
		d.Tools = append(d.Tools, tool)
	}
	return *d
}

func (c *lateFilter) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// close refuses further deliveries and records the late ones.
func (c *lateFilter) close() {
	c.mu.Lock()
	late := c.late
	c.late, c.closed = nil, true
	if cause := context.Cause(c.attemptCtx); cause != nil {
		c.reason = string(failure.KindOf(cause))
	}
	c.mu.Unlock()
	for _, d := range late {
		d.GivenUp = c.reason
		c.attempt.recordLateDelivery(d)
	}
}

// Output implements sdk.Exchange.
func (c *lateFilter) Output(o sdk.OutputChunk) {
	if _, closed := c.countLate(event.LateOutput, len(o.Text), ""); !closed {
		c.exchange.Output(o)
	}
}

// Progress implements sdk.Exchange.
func (c *lateFilter) Progress(p sdk.Progress) {
	if late, _ := c.countLate("", 0, ""); !late {
		c.exchange.Progress(p)
	}
}

// Usage implements sdk.Exchange.
func (c *lateFilter) Usage(u sdk.Usage) {
	if _, closed := c.countLate("", 0, ""); !closed {
		c.exchange.Usage(u)
	}
}

// Observe implements sdk.Exchange.
func (c *lateFilter) Observe(call sdk.ToolCall) {
	late, closed := c.countLate(event.LateToolCall, 0, call.Tool)
	switch {
	case !late:
		c.exchange.Observe(call)
	case !closed:
		c.noteWrites(call) // its files are scanned for secrets
	}
}

// ObserveResult implements sdk.Exchange.
func (c *lateFilter) ObserveResult(r sdk.ToolResult) {
	if late, _ := c.countLate("", 0, ""); !late {
		c.exchange.ObserveResult(r)
	}
}

// Call implements sdk.Exchange.
func (c *lateFilter) Call(ctx context.Context, call sdk.ToolCall) (sdk.Verdict, error) {
	if late, _ := c.countLate(event.LateToolCall, 0, call.Tool); late {
		return sdk.Verdict{CallID: call.CallID, Action: sdk.VerdictDeny, Reason: "the attempt was abandoned; its calls no longer count"}, nil
	}
	return c.exchange.Call(ctx, call)
}

// Result implements sdk.Exchange. The result of an allowed call counts, even if it is late.
func (c *lateFilter) Result(r sdk.ToolResult) {
	if _, closed := c.countLate("", 0, ""); !closed {
		c.exchange.Result(r)
	}
}

// Checkpoint implements sdk.Exchange.
func (c *lateFilter) Checkpoint(ctx context.Context, p sdk.Checkpoint) error {
	if _, closed := c.countLate("", 0, ""); closed {
		return failure.New(failure.Internal, "the attempt is over")
	}
	return c.exchange.Checkpoint(ctx, p)
}

// countLateResult counts a success that the provider reports for an abandoned attempt.
func (c *lateFilter) countLateResult(r sdk.ExecuteResult, err error) {
	if err == nil && (r.Outcome == "" || r.Outcome == sdk.OutcomeSucceeded) {
		c.countLate(event.LateResult, len(r.Output), "")
	}
}

// recordLateDelivery records a delivery that came after the attempt was abandoned.
func (a *attempt) recordLateDelivery(d event.LateDeliveryData) {
	if d.Attempt == 0 {
		d.Attempt = a.command.Attempt
	}
	a.log.Warn("refused a late delivery of an abandoned attempt", "what", d.Kind, "path", d.Path, "of", d.Attempt)
	a.recordInfo(context.Background(), event.LateDelivery, d)
}
