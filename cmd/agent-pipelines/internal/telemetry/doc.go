// Package telemetry sends what happens in sessions to an OpenTelemetry collector: the spans that package trace makes, and
// metrics. It is there only where the standard variables ask for it; otherwise nothing of it runs.
//
// It follows a session as a view does and never holds it up: what is to be sent waits in memory, a collector that is
// away, slow or hangs costs a warning, and the end of the command waits for it for [FlushLimit] at most.
//
// Start with [FromEnvironment], which reads the variables, and [Session], which follows a session.
package telemetry
