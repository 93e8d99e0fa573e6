package attempt

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// underWay is a call of which no result has come.
type underWay struct {
	tool  string
	turn  int
	since time.Time
}

// begin remembers a call that was allowed, or told of.
func (x *exchange) begin(d event.ToolCallData) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.under[d.CallID] = underWay{d.Tool, d.Turn, time.Now()}
}

// finish adds to the end of a call what is known of its beginning.
func (x *exchange) finish(d *event.ToolResultData) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if u := x.usage; u != nil && (u.InputTokens != nil || u.OutputTokens != nil) {
		d.TokensUsed = *event.Sum(event.Sum(u.InputTokens, u.OutputTokens), new(int64))
	}
	if c, ok := x.under[d.CallID]; ok {
		delete(x.under, d.CallID)
		d.Tool, d.Turn, d.DurationMS = c.tool, c.turn, max(1, time.Since(c.since).Milliseconds())
		return
	}
	was := x.known[d.CallID].Call // of an attempt that was cut off
	d.Tool, d.Turn = was.Tool, was.Turn
}
