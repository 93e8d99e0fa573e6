// Package collector is an OpenTelemetry collector for tests: it receives telemetry over gRPC or HTTP, on 127.0.0.1, keeps
// it, and compares the trace of a run with the run's journal. Only tests import it.
//
// Start with [New] and [Whole].
package collector
