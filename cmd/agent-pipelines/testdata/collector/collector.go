package collector

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"

	metricservice "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traceservice "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	resource "go.opentelemetry.io/proto/otlp/resource/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Collector keeps the telemetry that it receives. It is safe for concurrent use; the caller closes it.
type Collector struct {
	// GRPC and HTTP are the endpoints, in the form of OTEL_EXPORTER_OTLP_ENDPOINT.
	GRPC, HTTP string

	servers sync.WaitGroup
	ends    []func()
	hang    chan struct{} // nil if the collector answers

	mu        sync.Mutex // guards:
	spans     []*trace.Span
	metrics   []*metrics.ResourceMetrics
	resources []*resource.Resource
}

// New starts a collector.
func New() (*Collector, error) { return start(&Collector{}) }

// NewHanging starts a collector that accepts requests and answers nothing until it is closed.
func NewHanging() (*Collector, error) { return start(&Collector{hang: make(chan struct{})}) }

func start(c *Collector) (*Collector, error) {
	calls, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	requests, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, calls.Close())
	}
	c.GRPC, c.HTTP = "http://"+calls.Addr().String(), "http://"+requests.Addr().String()
	rpc := grpc.NewServer()
	traceservice.RegisterTraceServiceServer(rpc, traceService{c: c})
	metricservice.RegisterMetricsServiceServer(rpc, metricService{c: c})
	web := &http.Server{Handler: c} //nolint:gosec // of a test, on this machine
	c.servers.Go(func() { _ = rpc.Serve(calls) })
	c.servers.Go(func() { _ = web.Serve(requests) })
	c.ends = []func(){rpc.Stop, func() { _ = web.Close() }}
	return c, nil
}

// Close ends the collector.
func (c *Collector) Close() {
	if c.hang != nil {
		close(c.hang)
	}
	for _, end := range c.ends {
		end()
	}
	c.servers.Wait()
}

// Spans returns the received spans, in the order of arrival.
func (c *Collector) Spans() []*trace.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*trace.Span(nil), c.spans...)
}

// Metrics returns the received metrics, in the order of arrival.
func (c *Collector) Metrics() []*metrics.ResourceMetrics {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*metrics.ResourceMetrics(nil), c.metrics...)
}

// Resources returns the resources of the senders of spans.
func (c *Collector) Resources() []*resource.Resource {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*resource.Resource(nil), c.resources...)
}

func (c *Collector) tookSpans(all []*trace.ResourceSpans) {
	c.wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, spans := range all {
		c.resources = append(c.resources, spans.GetResource())
		for _, scope := range spans.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
}

func (c *Collector) tookMetrics(all []*metrics.ResourceMetrics) {
	c.wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.metrics = append(c.metrics, all...)
}

// wait blocks the sender of a hanging collector.
func (c *Collector) wait() {
	if c.hang != nil {
		<-c.hang
	}
}

type traceService struct {
	traceservice.UnimplementedTraceServiceServer
	c *Collector
}

func (t traceService) Export(_ context.Context, m *traceservice.ExportTraceServiceRequest) (*traceservice.ExportTraceServiceResponse, error) {
	t.c.tookSpans(m.GetResourceSpans())
	return &traceservice.ExportTraceServiceResponse{}, nil
}

type metricService struct {
	metricservice.UnimplementedMetricsServiceServer
	c *Collector
}

func (t metricService) Export(_ context.Context, m *metricservice.ExportMetricsServiceRequest) (*metricservice.ExportMetricsServiceResponse, error) {
	t.c.tookMetrics(m.GetResourceMetrics())
	return &metricservice.ExportMetricsServiceResponse{}, nil
}

// ServeHTTP accepts protocol buffers over HTTP.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var answer proto.Message
	switch r.URL.Path {
	case "/v1/traces":
		var m traceservice.ExportTraceServiceRequest
		if err = errors.Join(err, proto.Unmarshal(body, &m)); err == nil {
			c.tookSpans(m.GetResourceSpans())
		}
		answer = &traceservice.ExportTraceServiceResponse{}
	case "/v1/metrics":
		var m metricservice.ExportMetricsServiceRequest
		if err = errors.Join(err, proto.Unmarshal(body, &m)); err == nil {
			c.tookMetrics(m.GetResourceMetrics())
		}
		answer = &metricservice.ExportMetricsServiceResponse{}
	default:
		http.NotFound(w, r)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	text, err := proto.Marshal(answer)
	if err == nil {
		_, _ = w.Write(text) // a sender that is gone wants no answer
	}
}
