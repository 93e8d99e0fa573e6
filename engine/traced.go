package engine

import (
	"context"
	"fmt"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/kernel"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// WithTraces tells the components that are called, by the flag of the trace context that each call carries, whether somebody
// sends the spans of the run to a collector: theirs have a place there. sampled says so of a run's trace; it is called before
// each effect, from any goroutine. Default: nobody does, and the flag says so. The ids are those of the journal either way;
// see [event.SpanOf].
func WithTraces(sampled func(event.TraceID) bool) Option {
	return func(c *config) { c.traces = sampled }
}

// traced is the context of an effect, with the place of its call in the trace of the run.
func (f *effects) traced(ctx context.Context, w kernel.Work) context.Context {
	flags, run := 0, event.TraceOf(w.State.RunID)
	if f.traces != nil && f.traces(run) {
		flags = 1
	}
	return sdk.WithTraceParent(ctx, fmt.Sprintf("00-%s-%s-%02d", run, event.SpanOf(w.State.RunID, w.Command.Key.Call(), w.State.Epoch), flags))
}
