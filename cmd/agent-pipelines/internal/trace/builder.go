package trace

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// SpanBuilder makes spans from the events of one session, from its first one on. It is used from one goroutine at a time.
type SpanBuilder struct {
	ended func(Span)

	plan   *plan.Plan
	state  *state.State
	run    string // its id, "" before a run that has one
	epoch  int
	latest time.Time // of the last event
	// resumed is the epoch in which the session went on after it rested, 0 for the first.
	resumed int
	resting bool      // what ends does so because the session comes to rest
	top     *openSpan // nil while the session rests
	spans   map[event.Key]*openSpan
	paths   map[string]*openSpan       // the nodes', by path
	before  map[event.Key]event.SpanID // the last span of what is no work of one kernel and may go on after a rest
	used    map[event.SpanID]bool      // ids
}

// NewSpanBuilder makes spans and hands each to ended when it has ended: one inside another before that.
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

// Apply takes the next event up, with the session's plan and, for what changes it, its state after the event. What an
// overtaken kernel wrote does not count.
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
	if e.Type == event.SessionImported { // from here on nothing of what was before is sure
		b.rest(b.latest, interrupted)
	}
	running := b.state != nil && b.state.Status == state.Running
	if b.top == nil && running {
		b.begin(e)
	}
	if b.top != nil {
		b.applyEvent(e)
		b.latest = e.Time
		b.top.extend(e.Time)
	}
	if b.top != nil && b.state != nil && !running && b.state.Status != state.Pending {
		b.rest(e.Time, interrupted)
	}
}

// begin opens the span of the run, or that of its going on after it rested.
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
	o.addAttributes(keyPipeline.String(name), keyOperation.String("invoke_workflow"), keyWorkflow.String(name))
	b.used[o.ID] = true
	b.top, b.spans[""] = o, o
}

// RunName is what a run is called: its pipeline, or of a loop its one stage. The plan may be nil.
func RunName(st *state.State, p *plan.Plan) string {
	stage := ""
	if p != nil && len(p.Nodes) > 0 {
		stage = p.Nodes[0].ID
	}
	return cmp.Or(st.Pipeline, stage, "stage")
}

// Why something ended that did not come to its own end.
const (
	interrupted = "interrupted"   // the session came to rest
	cutOff      = "kernel_killed" // its kernel was killed
)

// rest ends all that is open. Work that was under way ended in the given error.
func (b *SpanBuilder) rest(at time.Time, why string) {
	if b.top == nil {
		return
	}
	if b.state != nil {
		b.top.addAttributes(keyStatus.String(string(b.state.Status)))
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

// crashed ends the work of a kernel that was there before the one that writes now.
func (b *SpanBuilder) crashed() {
	for _, o := range b.inOrder() {
		if b.spans[o.key] == o && o.epoch > 0 {
			b.end(o, b.latest, cutOff, cutOff)
		}
	}
}

// inOrder are the open spans in the order of their keys: which one ends first must not depend on chance.
func (b *SpanBuilder) inOrder() []*openSpan {
	keys := make([]event.Key, 0, len(b.spans))
	for key := range b.spans {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	all := make([]*openSpan, 0, len(keys))
	for _, key := range keys {
		all = append(all, b.spans[key])
	}
	return all
}

// start opens the span of a key within another.
func (b *SpanBuilder) start(key event.Key, around *openSpan, name string, at time.Time, attributes ...attribute.KeyValue) *openSpan {
	if at.Before(around.Start) {
		at = around.Start
	}
	o := &openSpan{key: key, parent: around, last: at, Span: Span{
		Trace: around.Trace, ID: b.id(key, b.resumed), Parent: around.ID, Name: name, Start: at,
		Attributes: attributes, Before: b.before[key],
	}}
	b.enter(o)
	return o
}

func (b *SpanBuilder) enter(o *openSpan) {
	o.parent.children = append(o.parent.children, o)
	o.parent.extend(o.Start)
	b.spans[o.key] = o
}

// id is the id of a key's span. The same may be done twice in an epoch, seldom; then the second span has one of its own.
func (b *SpanBuilder) id(key event.Key, epoch int) event.SpanID {
	id := event.KeySpanID(b.run, key, epoch)
	for n := 2; b.used[id]; n++ {
		id = event.KeySpanID(b.run, key+event.Key("~"+strconv.Itoa(n)), epoch)
	}
	b.used[id] = true
	return id
}

// work opens the span of an effect, which is of one kernel.
func (b *SpanBuilder) work(key event.Key, around *openSpan, name string, at time.Time, attributes ...attribute.KeyValue) *openSpan {
	if was := b.spans[key]; was != nil {
		b.end(was, at, interrupted, interrupted)
	}
	if at.Before(around.Start) {
		at = around.Start
	}
	o := &openSpan{key: key, parent: around, last: at, epoch: max(b.epoch, 1), Span: Span{
		Trace: around.Trace, ID: b.id(key, b.epoch), Parent: around.ID, Name: name, Start: at, Attributes: attributes,
	}}
	b.enter(o)
	return o
}

// end ends a span in an error, or in none, and before it what is open within it; work among that in the error why.
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
		o.addAttributes(keyError.String(o.Error))
	}
	delete(b.spans, o.key)
	o.Rested = b.resting && o.epoch == 0
	if o.Rested || o.epoch == 0 && o.Error != "" { // what failed is made again where the session goes on
		b.before[o.key] = o.ID
	}
	if o.parent != nil {
		o.parent.children = slices.DeleteFunc(o.parent.children, func(in *openSpan) bool { return in == o })
		o.parent.extend(o.End)
	}
	b.ended(o.Span)
}
