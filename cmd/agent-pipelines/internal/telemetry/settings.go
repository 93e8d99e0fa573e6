package telemetry

import (
	"fmt"
	"strings"
)

// The standard variables that this package reads, beside OTEL_TRACES_EXPORTER and OTEL_METRICS_EXPORTER. The exporters and
// the SDK read the others: endpoints, headers, timeouts, certificates, samplers, limits, resource attributes.
const (
	variableDisabled = "OTEL_SDK_DISABLED"
	variableParent   = "TRACEPARENT"

	prefix  = "OTEL_EXPORTER_OTLP_" // prefix of the variables of all exporters; the name of one signal may follow
	traces  = "TRACES_"
	metrics = "METRICS_"
)

// Settings says which signals are sent. The zero value sends nothing.
type Settings struct {
	Traces, Metrics Protocol
	// TracesPlain and MetricsPlain disable TLS, whatever the variables say: they are set if the variables name no endpoint,
	// for the default one on this machine.
	TracesPlain, MetricsPlain bool
	// Parent is the value of TRACEPARENT: the span of the caller, "" for none.
	Parent string
}

// Protocol is the protocol of a collector, "" for none.
type Protocol string

// The supported protocols of OTLP. The default is HTTP, as the specification says.
const (
	GRPC Protocol = "grpc"
	HTTP Protocol = "http/protobuf"
)

// On reports whether any signal is sent.
func (s Settings) On() bool { return s.Traces != "" || s.Metrics != "" }

// FromEnvironment reads the variables. The warnings name those with unsupported values.
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
		return p, p != "" && unnamed(getenv, name)
	}
	s := Settings{Parent: getenv(variableParent)}
	s.Traces, s.TracesPlain = signal(traces)
	s.Metrics, s.MetricsPlain = signal(metrics)
	return s, warnings
}

// unnamed reports whether the variables set neither the endpoint of a signal nor its security.
func unnamed(getenv func(string) string, signal string) bool {
	for _, name := range []string{"ENDPOINT", "INSECURE", "CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
		if getenv(prefix+name) != "" || getenv(prefix+signal+name) != "" {
			return false
		}
	}
	return true
}

// parseProtocol returns the protocol of one signal, "" if it is not sent.
func parseProtocol(getenv func(string) string, signal string) (Protocol, error) {
	exporter := "OTEL_" + signal + "EXPORTER"
	switch value := getenv(exporter); {
	case value == "none", value == "" && getenv(prefix+signal+"ENDPOINT") == "" && getenv(prefix+"ENDPOINT") == "":
		return "", nil
	case value != "" && value != "otlp":
		return "", fmt.Errorf("%s is %q: nothing of it is sent; write otlp or none", exporter, value)
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
		return "", fmt.Errorf("%s is %q: nothing is sent by it; write %s or %s", from, value, GRPC, HTTP)
	}
}
