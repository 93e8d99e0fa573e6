package telemetry

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/trace"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// scope names this program among those that make spans and metrics.
const scope = "github.com/dodo-digital/agent-pipelines"

// spans sends spans. It is used from one goroutine.
type spans struct {
	provider *sdktrace.TracerProvider
	tracer   oteltrace.Tracer
	caller   oteltrace.SpanContext // of whoever started the command
	sampled  map[event.TraceID]bool
}

func newSpans(ctx context.Context, s Settings, about *resource.Resource, a *arrived) (*spans, error) {
	var exporter sdktrace.SpanExporter
	var err error
	if s.Traces == GRPC {
		exporter, err = otlptracegrpc.New(ctx)
	} else {
		exporter, err = otlptracehttp.New(ctx)
	}
	if err != nil {
		return nil, err
	}
	out := &spans{caller: callerOf(s.Parent), sampled: map[event.TraceID]bool{}}
	out.provider = sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(&sent{SpanExporter: exporter, arrived: a}), sdktrace.WithResource(about), sdktrace.WithIDGenerator(named{}),
	)
	out.tracer = out.provider.Tracer(scope)
	return out, nil
}

// callerOf reads a traceparent, which may be nobody's.
func callerOf(parent string) oteltrace.SpanContext {
	carrier := propagation.MapCarrier{"traceparent": parent}
	return oteltrace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

// send hands a span on. It never waits: what does not fit into the SDK's queue is lost.
func (s *spans) send(made trace.Span) {
	ctx := context.WithValue(context.Background(), nameKey{}, made)
	if made.Parent != (event.SpanID{}) {
		ctx = oteltrace.ContextWithSpanContext(ctx, oteltrace.NewSpanContext(oteltrace.SpanContextConfig{
			TraceID: oteltrace.TraceID(made.Trace), SpanID: oteltrace.SpanID(made.Parent), TraceFlags: s.flags(made.Trace),
		}))
	}
	kind := oteltrace.SpanKindInternal
	if made.Call {
		kind = oteltrace.SpanKindClient
	}
	_, span := s.tracer.Start(ctx, made.Name, oteltrace.WithTimestamp(made.Start), oteltrace.WithSpanKind(kind),
		oteltrace.WithAttributes(made.Attributes...), oteltrace.WithLinks(s.links(made)...))
	for _, e := range made.Events {
		span.AddEvent(e.Name, oteltrace.WithTimestamp(e.At), oteltrace.WithAttributes(e.Attributes...))
	}
	if made.Error != "" {
		span.SetStatus(codes.Error, made.Error)
	}
	span.End(oteltrace.WithTimestamp(made.End))
}

// links are those to the span that went before, and from that of the run to that of whoever started the command: its
// trace is another one, for a run has the trace that its journal names.
func (s *spans) links(made trace.Span) []oteltrace.Link {
	var all []oteltrace.Link
	if made.Before != (event.SpanID{}) {
		all = append(all, oteltrace.Link{SpanContext: oteltrace.NewSpanContext(oteltrace.SpanContextConfig{
			TraceID: oteltrace.TraceID(made.Trace), SpanID: oteltrace.SpanID(made.Before), TraceFlags: s.flags(made.Trace),
		})})
	}
	if made.Top && s.caller.IsValid() {
		all = append(all, oteltrace.Link{SpanContext: s.caller})
	}
	return all
}

// flags say whether a trace is sampled. Its first span is the last to end, so that the sampler is asked with one that is
// thrown away.
func (s *spans) flags(id event.TraceID) oteltrace.TraceFlags {
	sampled, known := s.sampled[id]
	if !known {
		ctx := context.WithValue(context.Background(), nameKey{}, trace.Span{Trace: id, ID: event.SpanID{1}})
		_, probe := s.tracer.Start(ctx, "run")
		sampled = probe.SpanContext().IsSampled()
		s.sampled[id] = sampled
	}
	return oteltrace.TraceFlags(0).WithSampled(sampled)
}

// nameKey is the key of the span that is to be sent in the context of its making.
type nameKey struct{}

// named gives spans the ids that they have by the journal.
type named struct{}

// NewIDs implements [sdktrace.IDGenerator].
func (named) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	made, _ := ctx.Value(nameKey{}).(trace.Span)
	return oteltrace.TraceID(made.Trace), oteltrace.SpanID(made.ID)
}

// NewSpanID implements [sdktrace.IDGenerator].
func (named) NewSpanID(ctx context.Context, _ oteltrace.TraceID) oteltrace.SpanID {
	made, _ := ctx.Value(nameKey{}).(trace.Span)
	return oteltrace.SpanID(made.ID)
}

// sent is an exporter that tells what has arrived. It is safe for concurrent use.
type sent struct {
	sdktrace.SpanExporter
	arrived *arrived
	failed  atomic.Bool // something has not, and what comes after it does not count
}

// ExportSpans implements [sdktrace.SpanExporter].
func (s *sent) ExportSpans(ctx context.Context, batch []sdktrace.ReadOnlySpan) error {
	err := s.SpanExporter.ExportSpans(ctx, batch)
	if err != nil {
		s.failed.Store(true)
	}
	if !s.failed.Load() {
		s.arrived.add(len(batch))
	}
	return err
}
