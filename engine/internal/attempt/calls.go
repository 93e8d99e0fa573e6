package attempt

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// artifactCalls holds the calls of the tool that delivers the artifact (artifact.from: tool:<name>). The last call
// that was not refused counts. The exchange's mutex guards it.
type artifactCalls struct {
	tool  string // "" without such a tool
	calls []artifactCall
}

// maxArtifactCalls limits the calls without a known result: an agent may never report results.
const maxArtifactCalls = 8

type artifactCall struct {
	id   string
	args json.RawMessage
}

// add appends a call that runs, or that the agent reports. Earlier calls stay, since this one may fail.
func (h *artifactCalls) add(c sdk.ToolCall) {
	if h.tool == "" || c.Tool != h.tool {
		return
	}
	h.remove(c.CallID)
	h.calls = append(h.calls, artifactCall{c.CallID, slices.Clone(c.Args)})
	h.calls = h.calls[max(0, len(h.calls)-maxArtifactCalls):]
}

// finish handles a call's result: success drops the calls before it, anything else drops the call.
func (h *artifactCalls) finish(id string, status sdk.ToolStatus) {
	i := slices.IndexFunc(h.calls, func(c artifactCall) bool { return c.id == id })
	switch {
	case i < 0:
	case status == sdk.ToolSuccess:
		h.calls = h.calls[i:]
	default:
		h.remove(id)
	}
}

func (h *artifactCalls) remove(id string) {
	h.calls = slices.DeleteFunc(h.calls, func(c artifactCall) bool { return c.id == id })
}

// replayArtifactCalls adds the successful calls that the journal has from before a crash.
func (a *attempt) replayArtifactCalls(h *artifactCalls) {
	for _, c := range a.loop().Calls {
		if h.tool == "" || c.Call.Tool != h.tool || c.Result == nil || c.Result.Status != string(sdk.ToolSuccess) {
			continue
		}
		args, err := a.readCallArgs(c)
		if err != nil {
			a.log.Warn("cannot read the arguments of a call from before the crash", "call", c.Call.CallID, "error", err)
			continue
		}
		h.calls = append(h.calls, artifactCall{c.Call.CallID, args})
	}
}

func (a *attempt) readCallArgs(c state.Call) (json.RawMessage, error) {
	if c.Call.ArgsRef == nil {
		return c.Call.Args, nil
	}
	return a.Dir.ReadRef(*c.Call.ArgsRef)
}

// writeArtifactCall writes the artifact of the last call to a file in the iteration's directory.
func (a *attempt) writeArtifactCall() error {
	if a.exchange == nil {
		return nil
	}
	a.exchange.mu.Lock()
	defer a.exchange.mu.Unlock()
	calls := a.exchange.artifactCalls.calls
	if len(calls) == 0 {
		return nil
	}
	args := a.Redactor.ForAgent().JSON(calls[len(calls)-1].args)
	return a.Dir.Replace(a.iteration.ArtifactCall(), append(args, '\n'))
}

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
