// Package collector is an OpenTelemetry collector for tests: it receives over gRPC or HTTP, on 127.0.0.1, stores
// everything, and checks a run's trace against the run's journal. Only tests import it.
//
// Start with [New] and [CheckTrace].
package collector
