package attempt

import (
	"context"
	"slices"
	"sync"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// maxLateTools is how many tools a late delivery names.
const maxLateTools = 20

// closing is the exchange of an attempt that may be given up. From then on nothing that the provider delivers counts: a
// tool call is denied, one that an agent only tells of is not journaled as the attempt's, and all of it is counted for
// [event.LateDelivery]. What the agent says while it takes its leave is kept in the attempt's own files, and what it
// has used is charged; once the provider has returned, nothing is taken any more. It is safe for concurrent use.
type closing struct {
	*exchange
	given context.Context //nolint:containedctx // it ends when the attempt is given up, and is asked for nothing else

	mu     sync.Mutex // guards:
	closed bool       // the provider has returned
	why    string     // the kind of failure that the attempt was given up for by then, "" where it was not
	late   []event.LateDeliveryData
}

// lapse counts a delivery that comes too late and reports whether it did, and whether nothing is taken any more.
func (c *closing) lapse(what string, bytes int, tool string) (late, closed bool) {
	if closed = c.isClosed(); c.given.Err() == nil && !closed {
		return false, false
	}
	if what != "" {
		if d := c.count(what, bytes, tool); closed && d.Count == 1 { // nobody comes back for it
			c.attempt.tellLate(d)
		}
	}
	return true, closed
}

// count adds a delivery to those of its kind, and returns what is known of them now.
func (c *closing) count(what string, bytes int, tool string) event.LateDeliveryData {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.late, func(d event.LateDeliveryData) bool { return d.What == what })
	if i < 0 {
		i = len(c.late)
		c.late = append(c.late, event.LateDeliveryData{What: what, GivenUp: c.why})
	}
	d := &c.late[i]
	d.Count++
	d.Bytes += int64(bytes)
	if tool = event.Truncate(tool, event.MaxName); tool != "" && len(d.Tools) < maxLateTools && !slices.Contains(d.Tools, tool) {
		d.Tools = append(d.Tools, tool)
	}
	return *d
}

func (c *closing) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// close takes nothing any more and tells what came too late.
func (c *closing) close() {
	c.mu.Lock()
	late := c.late
	c.late, c.closed = nil, true
	if cause := context.Cause(c.given); cause != nil {
		c.why = string(failure.KindOf(cause))
	}
	c.mu.Unlock()
	for _, d := range late {
		d.GivenUp = c.why
		c.attempt.tellLate(d)
	}
}

// Output implements sdk.Exchange.
func (c *closing) Output(o sdk.OutputChunk) {
	if _, closed := c.lapse(event.LateOutput, len(o.Text), ""); !closed {
		c.exchange.Output(o)
	}
}

// Progress implements sdk.Exchange.
func (c *closing) Progress(p sdk.Progress) {
	if late, _ := c.lapse("", 0, ""); !late {
		c.exchange.Progress(p)
	}
}

// Usage implements sdk.Exchange.
func (c *closing) Usage(u sdk.Usage) {
	if _, closed := c.lapse("", 0, ""); !closed {
		c.exchange.Usage(u)
	}
}

// Observe implements sdk.Exchange.
func (c *closing) Observe(call sdk.ToolCall) {
	late, closed := c.lapse(event.LateToolCall, 0, call.Tool)
	switch {
	case !late:
		c.exchange.Observe(call)
	case !closed:
		c.note(call) // what it wrote is looked at for secrets
	}
}

// ObserveResult implements sdk.Exchange.
func (c *closing) ObserveResult(r sdk.ToolResult) {
	if late, _ := c.lapse("", 0, ""); !late {
		c.exchange.ObserveResult(r)
	}
}

// Call implements sdk.Exchange.
func (c *closing) Call(ctx context.Context, call sdk.ToolCall) (sdk.Verdict, error) {
	if late, _ := c.lapse(event.LateToolCall, 0, call.Tool); late {
		return sdk.Verdict{CallID: call.CallID, Action: sdk.VerdictDeny, Reason: "the attempt was given up: nothing of it counts any more"}, nil
	}
	return c.exchange.Call(ctx, call)
}

// Result implements sdk.Exchange: the end of a call that was allowed in time is the truth, however late.
func (c *closing) Result(r sdk.ToolResult) {
	if _, closed := c.lapse("", 0, ""); !closed {
		c.exchange.Result(r)
	}
}

// Checkpoint implements sdk.Exchange.
func (c *closing) Checkpoint(ctx context.Context, p sdk.Checkpoint) error {
	if _, closed := c.lapse("", 0, ""); closed {
		return failure.New(failure.Internal, "the attempt is over")
	}
	return c.exchange.Checkpoint(ctx, p)
}

// lateResult counts a success that the provider reported of an attempt that was given up.
func (c *closing) lateResult(r sdk.ExecuteResult, err error) {
	if err == nil && (r.Outcome == "" || r.Outcome == sdk.OutcomeSucceeded) {
		c.lapse(event.LateResult, len(r.Output), "")
	}
}

// tellLate records what the attempt delivered after it was given up.
func (a *attempt) tellLate(d event.LateDeliveryData) {
	if d.Of == 0 {
		d.Of = a.command.Attempt
	}
	a.log.Warn("a delivery of an attempt that was given up is refused", "what", d.What, "path", d.Path, "of", d.Of)
	a.inform(context.Background(), event.LateDelivery, d)
}
