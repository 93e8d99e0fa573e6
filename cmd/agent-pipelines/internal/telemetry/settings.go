package telemetry

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
)

// This package reads these standard variables, besides OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER. The exporters
// and the SDK read other variables: endpoints, headers, timeouts, certificates, samplers, limits, resource attributes.
const (
	variableDisabled = "OTEL_SDK_DISABLED"
	variableParent   = "TRACEPARENT"

	prefix  = "OTEL_EXPORTER_OTLP_" // prefix of the variables of all exporters; the name of one signal may follow
	traces  = "TRACES_"
	metrics = "METRICS_"
)

// Settings selects the signals to send. The zero value sends nothing.
type Settings struct {
	Traces, Metrics Protocol
	// TracesPlain and MetricsPlain disable TLS, whatever the variables say. They are true if the variables name no
	// endpoint, because the default endpoint on this machine has no TLS.
	TracesPlain, MetricsPlain bool
	// Parent is the value of TRACEPARENT: the span of the caller, "" for none.
	Parent string
}

// Protocol is the protocol of a collector, "" for none.
type Protocol string

// These are the supported protocols of OTLP. The default is HTTP, as the specification says.
const (
	GRPC Protocol = "grpc"
	HTTP Protocol = "http/protobuf"
)

// On reports whether any signal is sent.
func (s Settings) On() bool { return s.Traces != "" || s.Metrics != "" }

// FromEnvironment reads the variables. The warnings name variables with unsupported values.
func FromEnvironment(getenv func(string) string) (Settings, []string) {
	if strings.EqualFold(getenv(variableDisabled), "true") {
		return Settings{}, nil
	}
	var warnings []string
	signal := func(name string) (Protocol, bool) {
		p, err := parseProtocol(getenv, name)
		if err != nil {
			warnings = append(warnings, err.Error())
		}
		return p, p != "" && hasNoEndpoint(getenv, name)
	}
	s := Settings{Parent: getenv(variableParent)}
	s.Traces, s.TracesPlain = signal(traces)
	s.Metrics, s.MetricsPlain = signal(metrics)
	return s, warnings
}

// hasNoEndpoint reports whether the variables set neither the endpoint of a signal nor its security.
func hasNoEndpoint(getenv func(string) string, signal string) bool {
	return !slices.ContainsFunc([]string{"ENDPOINT", "INSECURE", "CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"}, func(name string) bool {
		return getenv(prefix+name) != "" || getenv(prefix+signal+name) != ""
	})
}

// parseProtocol returns the protocol of one signal, "" if it is not sent.
func parseProtocol(getenv func(string) string, signal string) (Protocol, error) {
	exporter := "OTEL_" + signal + "EXPORTER"
	switch value := getenv(exporter); {
	case value == "none", value == "" && getenv(prefix+signal+"ENDPOINT") == "" && getenv(prefix+"ENDPOINT") == "":
		return "", nil
	case value != "" && value != "otlp":
		return "", fmt.Errorf("%s is %q: this signal is not sent; write otlp or none", exporter, value)
	}
	from := prefix + signal + "PROTOCOL"
	if getenv(from) == "" {
		from = prefix + "PROTOCOL"
	}
	value := getenv(from)
	switch Protocol(value) {
	case "", HTTP:
		return HTTP, nil
	case GRPC:
		return GRPC, nil
	default:
		return "", fmt.Errorf("%s is %q: telemetry is not sent; write %s or %s", from, value, GRPC, HTTP)
	}
}

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
	u.warn("Telemetry: a setting in the OTEL_ variables is invalid and is left out: " + warning)
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

// Error implements [logr.LogSink]. It omits errors, which may quote values of variables, except errors of files.
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

// newResource returns the sender's resource: this program, or the service in OTEL_SERVICE_NAME and
// OTEL_RESOURCE_ATTRIBUTES.
func newResource(ctx context.Context, version string, left *configWarnings) (*resource.Resource, error) {
	made, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(semconv.ServiceName("agent-pipelines"), semconv.ServiceVersion(version), semconv.ServiceInstanceID(rand.Text())), resource.WithFromEnv())
	if left.resource(err) {
		return made, nil
	}
	return made, err
}
