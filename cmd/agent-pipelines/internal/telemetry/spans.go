package telemetry

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
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

// spans sends spans. It is used from one goroutine, but for flags.
type spans struct {
	queue    sdktrace.SpanProcessor
	tracer   oteltrace.Tracer
	parent   oteltrace.SpanContext // of whoever started the command
	exporter *countingExporter

	mu      sync.Mutex // guards:
	sampled map[event.TraceID]bool
}

// newSpans makes what sends spans, until ctx ends: then nothing is waited for any more.
func newSpans(ctx context.Context, s Settings, about *resource.Resource, a *sentCount) (*spans, error) {
	exporter, err := spanExporter(ctx, s)
	if err != nil {
		return nil, err
	}
	size := queueSize()
	out := &spans{parent: parseParent(s.Parent), sampled: map[event.TraceID]bool{}, exporter: &countingExporter{
		SpanExporter: exporter, arrived: a, room: make(chan struct{}, size), until: func(end func()) (stop func() bool) { return context.AfterFunc(ctx, end) },
	}}
	out.queue = sdktrace.NewBatchSpanProcessor(out.exporter, sdktrace.WithMaxQueueSize(size))
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(out.queue), sdktrace.WithResource(about), sdktrace.WithIDGenerator(journalIDs{}))
	out.tracer = provider.Tracer(scope)
	return out, nil
}

func spanExporter(ctx context.Context, s Settings) (sdktrace.SpanExporter, error) {
	if s.Traces == GRPC {
		var options []otlptracegrpc.Option
		if s.TracesPlain {
			options = append(options, otlptracegrpc.WithInsecure())
		}
		return otlptracegrpc.New(ctx, options...)
	}
	var options []otlptracehttp.Option
	if s.TracesPlain {
		options = append(options, otlptracehttp.WithInsecure())
	}
	return otlptracehttp.New(ctx, options...)
}

// queueSize is how many spans wait for the collector at most: what OTEL_BSP_MAX_QUEUE_SIZE says, or else the SDK's default.
func queueSize() int {
	if n, err := strconv.Atoi(os.Getenv("OTEL_BSP_MAX_QUEUE_SIZE")); err == nil && n > 0 {
		return n
	}
	return sdktrace.DefaultMaxQueueSize
}

// parseParent reads a traceparent, which may be nobody's.
func parseParent(parent string) oteltrace.SpanContext {
	carrier := propagation.MapCarrier{"traceparent": parent}
	return oteltrace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

// send hands a span on. Where there is no room for it, it waits for the collector until ctx ends: what was before this kernel
// comes faster than any takes it. A collector that has failed is not waited for, and the span is lost.
func (s *spans) send(ctx context.Context, made trace.Span) {
	span := s.start(made)
	for _, e := range made.Events {
		span.AddEvent(e.Name, oteltrace.WithTimestamp(e.At), oteltrace.WithAttributes(e.Attributes...))
	}
	if made.Error != "" {
		span.SetStatus(codes.Error, made.Error)
	}
	if span.SpanContext().IsSampled() && !s.exporter.enter(ctx) {
		s.gap()
		return
	}
	span.End(oteltrace.WithTimestamp(made.End))
}

// gap says that a span is missing: what comes after it does not count as arrived.
func (s *spans) gap() {
	if s != nil {
		s.exporter.failed.Store(true)
	}
}

func (s *spans) start(made trace.Span) oteltrace.Span {
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
	return span
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
	if made.Top && s.parent.IsValid() {
		all = append(all, oteltrace.Link{SpanContext: s.parent})
	}
	return all
}

// flags say whether a trace is sampled. Its first span is the last to end, so that the sampler is asked with one that is
// thrown away. It is safe for concurrent use.
func (s *spans) flags(id event.TraceID) oteltrace.TraceFlags {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// journalIDs gives spans the ids that they have by the journal.
type journalIDs struct{}

// NewIDs implements [sdktrace.IDGenerator].
func (journalIDs) NewIDs(ctx context.Context) (oteltrace.TraceID, oteltrace.SpanID) {
	made, _ := ctx.Value(nameKey{}).(trace.Span)
	return oteltrace.TraceID(made.Trace), oteltrace.SpanID(made.ID)
}

// NewSpanID implements [sdktrace.IDGenerator].
func (journalIDs) NewSpanID(ctx context.Context, _ oteltrace.TraceID) oteltrace.SpanID {
	made, _ := ctx.Value(nameKey{}).(trace.Span)
	return oteltrace.SpanID(made.ID)
}

// countingExporter is an exporter that tells what has arrived. It is safe for concurrent use.
type countingExporter struct {
	sdktrace.SpanExporter
	arrived *sentCount
	failed  atomic.Bool                         // something has not, and what comes after it does not count
	room    chan struct{}                       // has an element for each span that waits: the SDK's queue is never full
	until   func(end func()) (stop func() bool) // calls end when nothing is waited for any more
}

// enter takes a place in the queue, and says whether there was one.
func (s *countingExporter) enter(ctx context.Context) bool {
	select {
	case s.room <- struct{}{}:
		return true
	default:
	}
	if s.failed.Load() {
		return false
	}
	select {
	case s.room <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// ExportSpans implements [sdktrace.SpanExporter].
func (s *countingExporter) ExportSpans(ctx context.Context, batch []sdktrace.ReadOnlySpan) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer s.until(func() { cancel(errLate) })()
	err := s.SpanExporter.ExportSpans(ctx, batch)
	if err != nil && errors.Is(context.Cause(ctx), errLate) {
		err = errLate
	}
	if err != nil {
		s.failed.Store(true)
	}
	if !s.failed.Load() {
		s.arrived.add(len(batch))
	}
	for range batch {
		<-s.room
	}
	return err
}
