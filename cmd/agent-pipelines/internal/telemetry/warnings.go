package telemetry

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"net/url"
	"sync"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
)

// configWarnings reports invalid variables, each kind once. The exporters and the SDK log them with their values, which
// may be secret: only the failed action is passed on. It is safe for concurrent use.
type configWarnings struct {
	warn func(string)

	mu       sync.Mutex // guards:
	reported map[string]bool
}

func (u *configWarnings) report(warning string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.reported[warning] {
		return
	}
	if u.reported == nil {
		u.reported = map[string]bool{}
	}
	u.reported[warning] = true
	u.warn("Telemetry: something in the OTEL_ variables cannot be obeyed and is left out: " + warning)
}

// resource reports an invalid OTEL_RESOURCE_ATTRIBUTES, and whether the error is about that variable.
func (u *configWarnings) resource(err error) bool {
	var escape url.EscapeError
	switch {
	case errors.As(err, &escape):
		u.report("a %-escape in OTEL_RESOURCE_ATTRIBUTES; write %25 for a percent sign")
	case errors.Is(err, resource.ErrPartialResource):
		u.report("an entry of OTEL_RESOURCE_ATTRIBUTES; write name=value,name=value")
	default:
		return false
	}
	return true
}

func (u *configWarnings) logger() logr.Logger { return logr.New(sink{u}) }

// sink is the SDK's log. Only errors are reported.
type sink struct{ unread *configWarnings }

// Init implements [logr.LogSink].
func (sink) Init(logr.RuntimeInfo) {}

// Enabled implements [logr.LogSink].
func (sink) Enabled(int) bool { return false }

// Info implements [logr.LogSink].
func (sink) Info(int, string, ...any) {}

// Error implements [logr.LogSink]. The texts of errors contain values of variables, except those of files.
func (s sink) Error(err error, doing string, _ ...any) {
	var file *fs.PathError
	if errors.As(err, &file) {
		doing += ": " + file.Error()
	}
	s.unread.report(doing)
}

// WithValues implements [logr.LogSink].
func (s sink) WithValues(...any) logr.LogSink { return s }

// WithName implements [logr.LogSink].
func (s sink) WithName(string) logr.LogSink { return s }

// about returns the resource that sends: this program, or the one of OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES.
func about(ctx context.Context, version string, left *configWarnings) (*resource.Resource, error) {
	made, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName("agent-pipelines"), semconv.ServiceVersion(version), semconv.ServiceInstanceID(rand.Text())), resource.WithFromEnv())
	if left.resource(err) {
		return made, nil
	}
	return made, err
}
