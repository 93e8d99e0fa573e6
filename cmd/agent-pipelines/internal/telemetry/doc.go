// Package telemetry sends the spans of package trace, and metrics, to an OpenTelemetry collector. It runs only if the
// standard variables ask for it.
//
// It follows a session like a view, without delaying it: spans wait in memory. A collector that is unreachable, slow or
// hangs causes a warning. At its end the command waits for the collector for [FlushLimit] at most.
//
// Start with [FromEnvironment], which reads the variables, and [Session], which follows a session.
package telemetry
