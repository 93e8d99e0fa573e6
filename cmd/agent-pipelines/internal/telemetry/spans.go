package telemetry

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

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

// scope names this program as the source of spans and metrics.
const scope = "github.com/dodo-digital/agent-pipelines"

// FlushLimit bounds the time that the end of a session waits for the collector.
const FlushLimit = 3 * time.Second

// errLate cancels the exports that exceed FlushLimit.
var errLate = fmt.Errorf("the collector had not received all telemetry %v after the end of the session", FlushLimit)

// spans sends spans. Only flags is safe for concurrent use.
type spans struct {
	queue    sdktrace.SpanProcessor
	tracer   oteltrace.Tracer
	parent   oteltrace.SpanContext // of the caller of the command
	exporter *countingExporter

	mu      sync.Mutex // guards:
	sampled map[event.TraceID]bool
}

// newSpans returns a sender of spans, which stops waiting when ctx ends.
func newSpans(ctx context.Context, s Settings, about *resource.Resource, a *sentCount) (*spans, error) {
	exporter, err := spanExporter(ctx, s)
	if err != nil {
		return nil, err
	}
	size := queueSize()
	out := &spans{parent: parseParent(s.Parent), sampled: map[event.TraceID]bool{}, exporter: &countingExporter{
		SpanExporter: exporter, arrived: a, free: make(chan struct{}, size), until: func(end func()) (stop func() bool) { return context.AfterFunc(ctx, end) },
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

// queueSize returns the maximum number of spans that wait for the collector: OTEL_BSP_MAX_QUEUE_SIZE, else the SDK's default.
func queueSize() int {
	if n, err := strconv.Atoi(os.Getenv("OTEL_BSP_MAX_QUEUE_SIZE")); err == nil && n > 0 {
		return n
	}
	return sdktrace.DefaultMaxQueueSize
}

// parseParent reads a traceparent, which may be invalid.
func parseParent(parent string) oteltrace.SpanContext {
	carrier := propagation.MapCarrier{"traceparent": parent}
	return oteltrace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
}

// send queues a span. If the queue is full, it waits for the collector until ctx ends, because earlier events come faster
// than any collector takes them. It drops the span if the collector has failed.
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

// gap records that a span is missing: later spans do not count as sent.
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

// links returns the links of a span: to the span before the last pause or end, and from the run's span also to the
// caller's span, which belongs to another trace.
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

// flags returns whether a trace is sampled. The first span is the last to end, so the sampler is asked with a temporary
// span. It is safe for concurrent use.
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

// nameKey is the context key of the span to be sent.
type nameKey struct{}

// journalIDs is an ID generator that returns the ids derived from the journal, not random ones.
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

// countingExporter is an exporter that counts the sent spans. It is safe for concurrent use.
type countingExporter struct {
	sdktrace.SpanExporter
	arrived *sentCount
	failed  atomic.Bool                         // an export failed, and later exports do not count
	free    chan struct{}                       // has an element for each waiting span: the SDK's queue is never full
	until   func(end func()) (stop func() bool) // calls end when exports must stop
}

// enter takes a place in the queue, and reports whether a place was free.
func (s *countingExporter) enter(ctx context.Context) bool {
	select {
	case s.free <- struct{}{}:
		return true
	default:
	}
	if s.failed.Load() {
		return false
	}
	select {
	case s.free <- struct{}{}:
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
		<-s.free
	}
	return err
}

// sentFile is the session's file with the number of spans that were sent: a kernel that resumes the session reads the
// journal from its beginning, and sends only the other spans.
const sentFile = "telemetry.json"

// maxSentRecord bounds the file, in bytes.
const maxSentRecord = 4096

// sentCount counts the spans of a run that the collector has received, up to the first missing span. It is safe for
// concurrent use.
type sentCount struct {
	mu  sync.Mutex // guards:
	dir string
	sentRecord
}

type sentRecord struct {
	RunID string `json:"run_id"`
	Spans int64  `json:"spans"`
}

// open returns the number of spans of a run sent so far.
func (a *sentCount) open(dir, run string) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dir = dir
	if was, err := readSentRecord(dir); err == nil && was.RunID == run && was.Spans > 0 {
		a.Spans += was.Spans
	}
	a.RunID = run
	return a.Spans
}

// add adds to the number and writes it. If the write fails, a later kernel sends the spans again.
func (a *sentCount) add(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Spans += int64(n)
	if a.dir != "" {
		_ = a.write(a.dir)
	}
}

// readSentRecord reads sentFile. An agent can write to the directory: links out of it are not followed, and only
// regular files are read.
func readSentRecord(dir string) (was sentRecord, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return was, err
	}
	defer root.Close()
	f, err := root.OpenFile(sentFile, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return was, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return was, errors.Join(err, os.ErrInvalid)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSentRecord))
	if err != nil {
		return was, err
	}
	err = json.Unmarshal(text, &was)
	return was, err
}

// write replaces sentFile, through a temporary file with a random name.
func (c sentRecord) write(dir string) error {
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	next := "." + sentFile + "." + rand.Text()
	if err = root.WriteFile(next, append(text, '\n'), 0o600); err == nil {
		err = root.Rename(next, sentFile)
	}
	if err != nil {
		return errors.Join(err, root.Remove(next))
	}
	return nil
}
