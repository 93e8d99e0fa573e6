package exchange

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// maxObserved limits the journaled calls and results of an attempt that the provider reports without asking.
const maxObserved = 20_000

// maxArtifactCalls limits the remembered calls that deliver the artifact: an agent may never report their results.
const maxArtifactCalls = 8

// maxWritten limits the remembered paths that tools write.
const maxWritten = 200

// callTracker remembers the calls of an attempt. It is safe for concurrent use.
type callTracker struct {
	artifactTool string // the tool that delivers the artifact (artifact.from: tool:<name>), "" without one

	mu       sync.Mutex              // guards the fields below
	inFlight map[string]inFlightCall // calls without a result, by id
	artifact []sdk.ToolCall          // calls of artifactTool; the last one that was not refused counts
	written  []string                // paths that tools write
}

// inFlightCall is a call without a result.
type inFlightCall struct {
	tool  string
	turn  int
	since time.Time
}

// track remembers an allowed or observed call.
func (t *callTracker) track(d event.ToolCallData) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inFlight[d.CallID] = inFlightCall{d.Tool, d.Turn, time.Now()}
}

// finish adds tool, turn and duration of the call to its result. It reports whether the call was tracked.
func (t *callTracker) finish(d *event.ToolResultData) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.inFlight[d.CallID]
	if ok {
		delete(t.inFlight, d.CallID)
		d.Tool, d.Turn, d.DurationMS = c.tool, c.turn, max(1, time.Since(c.since).Milliseconds())
	}
	return ok
}

// addWritten remembers the paths that a call writes.
func (t *callTracker) addWritten(c sdk.ToolCall) {
	if c.Category != sdk.CategoryFileWrite {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range c.Paths {
		if len(t.written) < maxWritten && !slices.Contains(t.written, name) {
			t.written = append(t.written, name)
		}
	}
}

func (t *callTracker) writtenPaths() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.written)
}

// addArtifact remembers an allowed or observed call if it delivers the artifact. Earlier calls stay, since this call
// may fail.
func (t *callTracker) addArtifact(c sdk.ToolCall) {
	if t.artifactTool == "" || c.Tool != t.artifactTool {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.removeArtifact(c.CallID)
	t.artifact = append(t.artifact, sdk.ToolCall{CallID: c.CallID, Args: slices.Clone(c.Args)})
	t.artifact = t.artifact[max(0, len(t.artifact)-maxArtifactCalls):]
}

// finishArtifact applies the result of a call that delivers the artifact. Success removes the calls before it, any
// other status removes the call itself.
func (t *callTracker) finishArtifact(r sdk.ToolResult) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.artifact, func(c sdk.ToolCall) bool { return c.CallID == r.CallID })
	switch {
	case i < 0:
	case r.Status == sdk.ToolSuccess:
		t.artifact = t.artifact[i:]
	default:
		t.removeArtifact(r.CallID)
	}
}

func (t *callTracker) removeArtifact(id string) {
	t.artifact = slices.DeleteFunc(t.artifact, func(c sdk.ToolCall) bool { return c.CallID == id })
}

// artifactArgs returns the arguments of the call that delivers the artifact, false without one.
func (t *callTracker) artifactArgs() (json.RawMessage, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.artifact) == 0 {
		return nil, false
	}
	return t.artifact[len(t.artifact)-1].Args, true
}
