// Package sdk is the package that the author of an agent-pipelines plugin imports.
//
// A plugin is a program named agent-plugin-<name> that serves components. A [Provider] drives an
// agent or a model, a [Termination] decides when a stage is done, and a [HookAction] acts at points
// of a run. Implement one of these interfaces and pass it to serve.Main:
//
//	func main() { serve.Main(sdk.Plugin{Name: "echo", Version: "1.0.0", Providers: []sdk.Provider{echo{}}}) }
//
// A component may also implement [Initializer], [Validator], [Diagnoser], [Releaser] or [Shutdowner].
// The kernel uses the same interfaces for its built-in components.
//
// Package plugintest has conformance tests, and cliagent runs agent command lines. Package outcome
// classifies the end of an attempt, redact removes secrets, and failure has the error type. The
// protocol is described in docs/plugin-protocol.md.
package sdk
