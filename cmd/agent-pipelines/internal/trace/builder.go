package trace

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// SpanBuilder builds spans from the events of one session, from the first event on. It is not safe for concurrent use.
type SpanBuilder struct {
	openSpans
	state  *state.State
	latest time.Time // of the last event
}

// NewSpanBuilder returns a builder that passes each span to ended when the span ends: inner spans before outer spans.
func NewSpanBuilder(ended func(Span)) *SpanBuilder {
	b := &SpanBuilder{openSpans: openSpans{ended: ended, plan: &plan.Plan{}}}
	b.reset("")
	return b
}

func (b *SpanBuilder) reset(run string) {
	b.run, b.epoch, b.resumed, b.latest = run, 0, 0, time.Time{}
	b.top, b.spans, b.paths = nil, map[event.Key]*openSpan{}, map[string]*openSpan{}
	b.before, b.used = map[event.Key]event.SpanID{}, map[event.SpanID]bool{}
}

// begin opens the span of the run or of a resume.
func (b *SpanBuilder) begin(e event.Event) {
	if len(b.used) > 0 {
		b.resumed = max(e.Epoch, 2)
	}
	name := RunName(b.state, b.plan)
	o := &openSpan{last: e.Time, Span: Span{
		Trace: event.RunTraceID(b.run), ID: event.KeySpanID(b.run, "", b.resumed), Name: "run " + name, Top: true, Start: e.Time,
	}}
	if b.resumed > 0 {
		o.Name = "resume " + name
		o.Parent = event.KeySpanID(b.run, "", 0)
		o.Before = b.before[""]
	}
	o.addAttributes(keySession.String(e.Session), keyRunID.String(b.run), keyMode.String(b.state.Mode), keyEpoch.Int(max(e.Epoch, 1)))
	o.addAttributes(KeyPipeline.String(name), keyOperation.String("invoke_workflow"), keyWorkflow.String(name))
	b.used[o.ID] = true
	b.top, b.spans[""] = o, o
}

// RunName returns the name of a run: its pipeline, or the stage of a loop, or "stage". The plan may be nil.
func RunName(st *state.State, p *plan.Plan) string {
	stage := ""
	if p != nil && len(p.Nodes) > 0 {
		stage = p.Nodes[0].ID
	}
	return cmp.Or(st.Pipeline, stage, "stage")
}

// endSpans ends all open spans when the session pauses or ends. Unfinished work ends with the error why.
func (b *SpanBuilder) endSpans(at time.Time, why string) {
	if b.top == nil {
		return
	}
	if b.state != nil {
		b.top.addAttributes(KeyStatus.String(string(b.state.Status)))
		switch f := b.state.Failure; {
		case b.state.Status == state.Failed && f != nil:
			b.top.Error = cmp.Or(f.ErrorType, "failed")
		case b.state.Status == state.Failed || b.state.Status == state.Aborted:
			b.top.Error = string(b.state.Status)
		}
	}
	b.resting = true
	b.end(b.top, at, "", why)
	b.resting, b.top = false, nil
}

// crashed ends the work of the previous kernel, in the order of the keys, because the order of ends must be deterministic.
func (b *SpanBuilder) crashed() {
	for _, key := range slices.Sorted(maps.Keys(b.spans)) {
		if o := b.spans[key]; o != nil && o.epoch > 0 {
			b.end(o, b.latest, cutOff, cutOff)
		}
	}
}
