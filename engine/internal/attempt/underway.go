package attempt

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// inFlightCall is a call without a result.
type inFlightCall struct {
	tool  string
	turn  int
	since time.Time
}

// trackCall remembers an allowed or observed call.
func (x *exchange) trackCall(d event.ToolCallData) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.inFlight[d.CallID] = inFlightCall{d.Tool, d.Turn, time.Now()}
}

// addCallData adds tool, turn, duration and tokens of the call to its result.
func (x *exchange) addCallData(d *event.ToolResultData) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if u := x.usage; u != nil && (u.InputTokens != nil || u.OutputTokens != nil) {
		d.TokensUsed = *event.Sum(event.Sum(u.InputTokens, u.OutputTokens), new(int64))
	}
	if c, ok := x.inFlight[d.CallID]; ok {
		delete(x.inFlight, d.CallID)
		d.Tool, d.Turn, d.DurationMS = c.tool, c.turn, max(1, time.Since(c.since).Milliseconds())
		return
	}
	was := x.replayedCalls[d.CallID].Call // from before a crash
	d.Tool, d.Turn = was.Tool, was.Turn
}
