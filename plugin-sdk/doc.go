// Package sdk is what the author of an agent-pipelines plugin imports, and the only thing.
//
// A plugin is a program of its own, named agent-plugin-<name>, that serves one or more components:
// a [Provider] drives an agent or a model, a [Termination] decides when a stage is done, a
// [HookAction] acts at a point of the run. Implement one of the three interfaces and hand it to
// serve.Main:
//
//	func main() { serve.Main(sdk.Plugin{Name: "echo", Version: "1.0.0", Providers: []sdk.Provider{echo{}}}) }
//
// Everything else is optional: a component that also implements [Initializer], [Validator],
// [Releaser] or [Shutdowner] is called accordingly. The kernel uses the same interfaces for its
// built-ins and for providers that an embedding program registers, so there is one way to be a
// component, in or out of process.
//
// The types of this package are plain Go and it imports nothing but the standard library. The rest of
// the kit stands beside it: package serve runs a plugin, package client is the other end of the
// socket, package plugintest is the conformance suite, package verify the same for a binary, package cliagent runs agent command lines by
// tested rules, package outcome decides how an attempt ended, package redact takes secrets out of texts, package failure is the error type that crosses the wire. Protocol buffers and gRPC
// stay behind internal/wire; the protocol is described in docs/plugin-protocol.md and in
// proto/agentpipelines/plugin/v1.
package sdk
