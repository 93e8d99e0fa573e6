package acp

import (
	"cmp"
	"fmt"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// updateTool applies an update of a call. The caller holds mu, as for mergeUpdate, observe and endTool.
func (r *report) updateTool(u toolUpdate) {
	t := r.mergeUpdate(u)
	r.progress(t.title, t.toolName())
	if t.status == "completed" || t.status == "failed" {
		r.observe(t)
		r.endTool(t)
	}
}

// mergeUpdate adds an update to the state of its call. Fields that the update lacks stay unchanged.
func (r *report) mergeUpdate(u toolUpdate) *toolState {
	t := r.tools[u.ToolCallID]
	if t == nil {
		t = &toolState{id: u.ToolCallID}
		r.tools[t.id] = t
		r.order = append(r.order, t)
	}
	t.name = cmp.Or(u.Name, u.Meta.ClaudeCode.ToolName, t.name)
	t.title = cmp.Or(u.Title, t.title)
	t.kind = cmp.Or(u.Kind, t.kind)
	t.status = cmp.Or(u.Status, t.status)
	if hasJSON(u.RawInput) {
		t.input = u.RawInput
	}
	if hasJSON(u.RawOutput) {
		t.output = u.RawOutput
	}
	if len(u.Content) > 0 {
		t.content = u.Content
	}
	if len(u.Locations) > 0 {
		t.paths = nil
		for _, l := range u.Locations {
			t.paths = append(t.paths, l.Path)
		}
	}
	return t
}

// observe reports a call that the agent makes without a request, once. At the call's end its arguments are complete.
func (r *report) observe(t *toolState) {
	if t.requests > 0 || t.observed {
		return
	}
	t.observed = true
	r.x.Observe(t.call(t.id, r.dir))
}

// endTool reports the result of a call once.
func (r *report) endTool(t *toolState) {
	if t.ended {
		return
	}
	t.ended = true
	status := sdk.ToolSuccess
	switch {
	case t.refused:
		status = sdk.ToolDenied
	case t.status == "failed":
		status = sdk.ToolError
	}
	result := sdk.ToolResult{CallID: t.id, Status: status, Result: t.result()}
	if t.observed && !t.resultReported {
		t.resultReported = true
		r.x.ObserveResult(result)
	}
	for _, id := range t.pendingIDs {
		result.CallID = id
		r.x.Result(result)
	}
	t.pendingIDs = nil
}

// prepareCall returns the call of a request for permission. If gated is set, each request about the same call is a
// gated call of its own.
func (r *report) prepareCall(u toolUpdate, gated bool) sdk.ToolCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.mergeUpdate(u)
	r.startsMessage = true
	id := t.id
	if gated {
		if t.requests++; t.requests > 1 || t.observed {
			id = fmt.Sprintf("%s#%d", t.id, t.requests)
		}
	}
	r.calls[id] = t
	t.refused, t.ended = false, false
	r.progress(t.title, t.toolName())
	return t.call(id, r.dir)
}

// recordAllowed records a granted request.
func (r *report) recordAllowed(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.calls[id]; t != nil {
		t.pendingIDs = append(t.pendingIDs, id)
	}
}

func (r *report) recordRefusal(id string, why refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.calls[id]; t != nil {
		t.refused = true
	}
	r.refusals = append(r.refusals, why)
}

// callTitle returns a readable title of the call.
func (r *report) callTitle(id string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.calls[id]
	if t == nil {
		return id
	}
	return cmp.Or(t.title, t.toolName())
}
