package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/trace"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/timeline"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// meters counts the events of one process. It is not safe for concurrent use.
type meters struct {
	provider *sdkmetric.MeterProvider
	pipeline string
	open     map[string]string // kinds of the unanswered questions, by id
	live     bool              // the events are of this process and are counted

	iterations, attempts, retries, errors, tokens, runs metric.Int64Counter
	cost                                                metric.Float64Counter
	waiting                                             metric.Int64UpDownCounter
	attemptTime, nodeTime, runTime                      metric.Float64Histogram
}

// keyTokenType is an attribute that only metrics have.
const keyTokenType = attribute.Key("gen_ai.token.type")

// bounds lists the bucket boundaries of the histograms, in seconds: agents take from a moment to hours.
var bounds = []float64{0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14400, 43200}

// newMeters returns the meters of a session. They drop everything if the settings send no metrics.
func newMeters(ctx context.Context, s Settings, about *resource.Resource) (*meters, error) {
	options := []sdkmetric.Option{sdkmetric.WithResource(about)}
	if s.Metrics != "" {
		exporter, err := metricExporter(ctx, s)
		if err != nil {
			return nil, err
		}
		options = append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
	}
	f := &meters{open: map[string]string{}, provider: sdkmetric.NewMeterProvider(options...)}
	if err := f.instruments(f.provider.Meter(scope)); err != nil {
		return nil, errors.Join(err, f.provider.Shutdown(ctx))
	}
	return f, nil
}

func metricExporter(ctx context.Context, s Settings) (sdkmetric.Exporter, error) {
	if s.Metrics == GRPC {
		var options []otlpmetricgrpc.Option
		if s.MetricsPlain {
			options = append(options, otlpmetricgrpc.WithInsecure())
		}
		return otlpmetricgrpc.New(ctx, options...)
	}
	var options []otlpmetrichttp.Option
	if s.MetricsPlain {
		options = append(options, otlpmetrichttp.WithInsecure())
	}
	return otlpmetrichttp.New(ctx, options...)
}

func (f *meters) instruments(m metric.Meter) error {
	var errs []error
	counter := func(name, unit, about string) metric.Int64Counter {
		c, err := m.Int64Counter("agent_pipelines."+name, metric.WithUnit(unit), metric.WithDescription(about))
		errs = append(errs, err)
		return c
	}
	seconds := func(name, about string) metric.Float64Histogram {
		h, err := m.Float64Histogram("agent_pipelines."+name, metric.WithUnit("s"), metric.WithDescription(about), metric.WithExplicitBucketBoundaries(bounds...))
		errs = append(errs, err)
		return h
	}
	f.iterations = counter("iterations", "{iteration}", "Iterations that were completed.")
	f.attempts = counter("attempts", "{attempt}", "Attempts that ended.")
	f.retries = counter("retries", "{retry}", "Attempts and stages that were made again.")
	f.errors = counter("errors", "{error}", "Errors that were journaled.")
	f.tokens = counter("tokens", "{token}", "Tokens that agents and judges said they used.")
	f.runs = counter("runs", "{run}", "Runs that ended or paused.")
	f.attemptTime = seconds("attempt.duration", "How long attempts took.")
	f.nodeTime = seconds("node.duration", "How long visits of nodes took.")
	f.runTime = seconds("run.duration", "Time from the start of a run to its end or pause.")
	var err error
	f.cost, err = m.Float64Counter("agent_pipelines.cost", metric.WithUnit("{USD}"), metric.WithDescription("What agents and judges said that they cost, in US dollars."))
	errs = append(errs, err)
	f.waiting, err = m.Int64UpDownCounter("agent_pipelines.questions", metric.WithUnit("{question}"), metric.WithDescription("Questions that wait for an answer."))
	return errors.Join(append(errs, err)...)
}

// start counts the open questions when the events of this process begin.
func (f *meters) start() {
	f.live = true
	for _, kind := range f.open {
		f.addOpen(1, kind)
	}
}

// stop removes the open questions from the count: no process waits for them any longer.
func (f *meters) stop() {
	for _, kind := range f.open {
		f.addOpen(-1, kind)
	}
	clear(f.open)
}

// count counts an entry of the timeline. Of earlier processes it records only questions, which may still be open.
func (f *meters) count(u engine.Update, e timeline.Entry) {
	if u.State != nil && (f.pipeline == "" || u.Plan != nil) {
		f.pipeline = trace.RunName(u.State, u.Plan)
	}
	f.questions(e)
	if !f.live {
		return
	}
	attributes := f.attributes(e)
	if e.Completed && !isStepsIteration(u, e) {
		f.iterations.Add(context.Background(), 1, attributes)
	}
	if e.Usage != nil {
		f.addUsage(*e.Usage, attributes)
	}
	if e.Failure != nil {
		f.errors.Add(context.Background(), 1, attributes, metric.WithAttributes(trace.KeyError.String(e.Failure.ErrorType)))
	}
	if e.Retry != nil {
		f.retries.Add(context.Background(), 1, attributes, metric.WithAttributes(trace.KeyRung.String(e.Retry.Rung)))
	}
}

// isStepsIteration reports whether an iteration consists only of its node's steps, whose own iterations are counted.
func isStepsIteration(u engine.Update, e timeline.Entry) bool {
	return e.Location.Step == "" && u.State != nil && u.State.Nodes[e.Location.Outer()].Order != nil
}

// attributes returns the pipeline and the node of an entry.
func (f *meters) attributes(e timeline.Entry) metric.MeasurementOption {
	all := []attribute.KeyValue{trace.KeyPipeline.String(f.pipeline)}
	if e.Name != "" {
		all = append(all, trace.KeyNode.String(e.Name))
	}
	return metric.WithAttributes(all...)
}

// addUsage counts the reported tokens and cost.
func (f *meters) addUsage(u event.Usage, attributes metric.MeasurementOption) {
	for kind, count := range u.Tokens() {
		if count > 0 {
			f.tokens.Add(context.Background(), count, attributes, metric.WithAttributes(keyTokenType.String(kind)))
		}
	}
	if u.CostUSD != nil && *u.CostUSD > 0 {
		f.cost.Add(context.Background(), *u.CostUSD, attributes)
	}
}

// addSpan counts a span that has ended. Cut-off attempts do not count, because they are repeated.
func (f *meters) addSpan(made trace.Span) {
	about := []attribute.KeyValue{trace.KeyPipeline.String(f.pipeline)}
	for _, a := range made.Attributes {
		switch a.Key {
		case trace.KeyNode, trace.KeyAgent, trace.KeyModel, trace.KeyError, trace.KeyStatus, trace.KeyOutcome, trace.KeyQuestionKind:
			about = append(about, a)
		default: // belongs to one span alone
		}
	}
	attributes, took := metric.WithAttributes(about...), made.End.Sub(made.Start).Seconds()
	switch {
	case made.Top:
		f.runs.Add(context.Background(), 1, attributes)
		f.runTime.Record(context.Background(), took, attributes)
	case made.Is(trace.KindNode) && !made.Rested:
		f.nodeTime.Record(context.Background(), took, attributes)
	case made.Is(trace.KindAttempt) && !made.Cut():
		f.attempts.Add(context.Background(), 1, attributes)
		f.attemptTime.Record(context.Background(), took, attributes)
	default: // counted as an event, or not at all
	}
}

// questions updates the open questions. A repeated question counts once.
func (f *meters) questions(e timeline.Entry) {
	if q := e.NewQuestion; q != nil && f.open[q.ID] == "" {
		f.open[q.ID] = q.Kind
		f.addOpen(1, q.Kind)
	}
	if q := e.Answered; q != nil && f.open[q.ID] != "" {
		delete(f.open, q.ID)
		f.addOpen(-1, q.Kind)
	}
}

func (f *meters) addOpen(by int64, kind string) {
	if f.live {
		f.waiting.Add(context.Background(), by, metric.WithAttributes(trace.KeyPipeline.String(f.pipeline), trace.KeyQuestionKind.String(kind)))
	}
}
