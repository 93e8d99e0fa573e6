package telemetry

import (
	"fmt"
	"strings"
)

// The standard variables that this package reads. The exporters and the SDK read the others: endpoints, headers, timeouts,
// certificates, samplers, limits, resource attributes.
const (
	variableDisabled        = "OTEL_SDK_DISABLED"
	variableTraces          = "OTEL_TRACES_EXPORTER"
	variableMetrics         = "OTEL_METRICS_EXPORTER"
	variableEndpoint        = prefix + "ENDPOINT"
	variableTracesEndpoint  = prefix + "TRACES_ENDPOINT"
	variableMetricsEndpoint = prefix + "METRICS_ENDPOINT"
	variableProtocol        = prefix + "PROTOCOL"
	variableTracesProtocol  = prefix + "TRACES_PROTOCOL"
	variableMetricsProtocol = prefix + "METRICS_PROTOCOL"
	variableParent          = "TRACEPARENT"

	prefix = "OTEL_EXPORTER_OTLP_" // prefix of the variables of all exporters; TRACES_ or METRICS_ follow for one signal
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
	signal := func(exporter, endpoint, protocol string) Protocol {
		p, err := parseProtocol(getenv, exporter, endpoint, protocol)
		if err != nil {
			warnings = append(warnings, err.Error())
		}
		return p
	}
	s := Settings{
		Traces:  signal(variableTraces, variableTracesEndpoint, variableTracesProtocol),
		Metrics: signal(variableMetrics, variableMetricsEndpoint, variableMetricsProtocol),
		Parent:  getenv(variableParent),
	}
	s.TracesPlain = s.Traces != "" && unnamed(getenv, "TRACES_")
	s.MetricsPlain = s.Metrics != "" && unnamed(getenv, "METRICS_")
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
func parseProtocol(getenv func(string) string, exporter, endpoint, protocol string) (Protocol, error) {
	switch value := getenv(exporter); {
	case value == "none", value == "" && getenv(endpoint) == "" && getenv(variableEndpoint) == "":
		return "", nil
	case value != "" && value != "otlp":
		return "", fmt.Errorf("%s is %q: nothing of it is sent; write otlp or none", exporter, value)
	}
	value, from := getenv(protocol), protocol
	if value == "" {
		value, from = getenv(variableProtocol), variableProtocol
	}
	switch Protocol(value) {
	case "", HTTP:
		return HTTP, nil
	case GRPC:
		return GRPC, nil
	default:
		return "", fmt.Errorf("%s is %q: nothing is sent by it; write %s or %s", from, value, GRPC, HTTP)
	}
}
