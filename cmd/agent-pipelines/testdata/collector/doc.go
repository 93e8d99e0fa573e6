// Package collector is an OpenTelemetry collector for tests: it receives over gRPC or HTTP, on 127.0.0.1, and stores
// everything. Only tests import it.
//
// Start with [New].
package collector
