package trace

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// SpanBuilder builds spans from the events of one session, from its first one on. It is not safe for concurrent use.
type SpanBuilder struct {
	ended func(Span)

	plan   *plan.Plan
	state  *state.State
	run    string // its id, "" before a run that has one
	epoch  int
	latest time.Time // of the last event
	// resumed is the epoch of the last resume, 0 for the first segment of the run.
	resumed int
	resting bool      // the spans that end do so because the session rests
	top     *openSpan // nil while the session rests
	spans   map[event.Key]*openSpan
	paths   map[string]*openSpan       // of nodes, by path
	before  map[event.Key]event.SpanID // the last span of each key that may continue after a rest
	used    map[event.SpanID]bool      // ids
}

// NewSpanBuilder returns a builder that passes each span to ended at its end: inner spans before outer ones.
func NewSpanBuilder(ended func(Span)) *SpanBuilder {
	b := &SpanBuilder{ended: ended, plan: &plan.Plan{}}
	b.reset("")
	return b
}

func (b *SpanBuilder) reset(run string) {
	b.run, b.epoch, b.resumed, b.latest = run, 0, 0, time.Time{}
	b.top, b.spans, b.paths = nil, map[event.Key]*openSpan{}, map[string]*openSpan{}
	b.before, b.used = map[event.Key]event.SpanID{}, map[event.SpanID]bool{}
}

// Apply adds the next event, with the session's plan and, for events that change it, the state after the event. Events of
// a fenced kernel do not count.
func (b *SpanBuilder) Apply(e event.Event, st *state.State, p *plan.Plan) {
	if e.RunID != "" && e.RunID != b.run {
		b.rest(b.latest, "")
		b.reset(e.RunID)
	}
	if b.run == "" || e.Epoch != 0 && e.Epoch < b.epoch {
		return
	}
	if e.Epoch > b.epoch {
		b.crashed()
		b.epoch = e.Epoch
	}
	if p != nil {
		b.plan = p
	}
	if st != nil {
		b.state = st
	}
	if e.Type == event.SessionImported { // the earlier events are not reliable
		b.rest(b.latest, interrupted)
	}
	running := b.state != nil && b.state.Status == state.Running
	if b.top == nil && running {
		b.begin(e)
	}
	if b.top != nil {
		if handle, ok := handlers[e.Type]; ok {
			handle(b, e)
		}
		b.latest = e.Time
		b.top.extend(e.Time)
	}
	if b.top != nil && b.state != nil && !running && b.state.Status != state.Pending {
		b.rest(e.Time, interrupted)
	}
}

// begin opens the span of the run, or that of its resume.
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

// RunName returns the name of a run: its pipeline, or the stage of a loop. The plan may be nil.
func RunName(st *state.State, p *plan.Plan) string {
	stage := ""
	if p != nil && len(p.Nodes) > 0 {
		stage = p.Nodes[0].ID
	}
	return cmp.Or(st.Pipeline, stage, "stage")
}

// The errors of spans that were cut off.
const (
	interrupted = "interrupted"   // the session paused or ended
	cutOff      = "kernel_killed" // its kernel was killed
)

// rest ends all open spans. Unfinished work ends with the error why.
func (b *SpanBuilder) rest(at time.Time, why string) {
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

// start opens the span of a key within another. It outlives kernels.
func (b *SpanBuilder) start(key event.Key, around *openSpan, name string, at time.Time, attributes ...attribute.KeyValue) *openSpan {
	o := b.open(key, b.resumed, around, name, at, attributes)
	o.Before = b.before[key]
	return o
}

// work opens the span of an effect, which belongs to one kernel.
func (b *SpanBuilder) work(key event.Key, around *openSpan, name string, at time.Time, attributes ...attribute.KeyValue) *openSpan {
	if was := b.spans[key]; was != nil {
		b.end(was, at, interrupted, interrupted)
	}
	o := b.open(key, b.epoch, around, name, at, attributes)
	o.epoch = max(b.epoch, 1)
	return o
}

func (b *SpanBuilder) open(key event.Key, epoch int, around *openSpan, name string, at time.Time, attributes []attribute.KeyValue) *openSpan {
	if at.Before(around.Start) {
		at = around.Start
	}
	o := &openSpan{key: key, parent: around, last: at, Span: Span{Trace: around.Trace, ID: b.id(key, epoch), Parent: around.ID, Name: name, Start: at}}
	o.addAttributes(attributes...)
	around.children = append(around.children, o)
	around.extend(at)
	b.spans[key] = o
	return o
}

// id returns the id of a key's span. In the rare case of a repeated key in an epoch, the second span has its own id.
func (b *SpanBuilder) id(key event.Key, epoch int) event.SpanID {
	id := event.KeySpanID(b.run, key, epoch)
	for n := 2; b.used[id]; n++ {
		id = event.KeySpanID(b.run, key+event.Key("~"+strconv.Itoa(n)), epoch)
	}
	b.used[id] = true
	return id
}

// finish ends the work of a key, if it is open, with an error or with none.
func (b *SpanBuilder) finish(key event.Key, at time.Time, failed string, attributes ...attribute.KeyValue) {
	if o := b.spans[key]; o != nil {
		o.addAttributes(attributes...)
		b.end(o, at, failed, failed)
	}
}

// end ends a span with an error, or with none, and before it the spans within it; unfinished work ends with the error why.
func (b *SpanBuilder) end(o *openSpan, at time.Time, failed, why string) {
	for len(o.children) > 0 {
		in := o.children[0]
		inAt, inFailed := at, ""
		switch {
		case in.done:
			inAt = in.last
		case in.epoch > 0:
			inFailed = why
		}
		b.end(in, inAt, inFailed, why)
	}
	o.End = at
	if o.last.After(at) {
		o.End = o.last
	}
	if failed != "" {
		o.Error = failed
	}
	if o.Error != "" {
		o.addAttributes(KeyError.String(o.Error))
	}
	delete(b.spans, o.key)
	o.Rested = b.resting && o.epoch == 0
	if o.Rested || o.epoch == 0 && o.Error != "" { // failed work is repeated after a resume
		b.before[o.key] = o.ID
	}
	if o.parent != nil {
		o.parent.children = slices.DeleteFunc(o.parent.children, func(in *openSpan) bool { return in == o })
		o.parent.extend(o.End)
	}
	b.ended(o.Span)
}
