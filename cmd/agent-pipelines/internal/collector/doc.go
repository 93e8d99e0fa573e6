// Package collector is an OpenTelemetry collector for tests: it takes what is sent to it over gRPC or HTTP, on
// 127.0.0.1, keeps it, and says whether the trace of a run is whole by the run's journal. Tests alone import it.
//
// Start with [New] and [Whole].
package collector
