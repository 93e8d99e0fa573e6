// Package plugintest is the conformance suite for plugins: what the kernel demands of a component, as
// tests that any author can run.
//
//	func TestConformance(t *testing.T) {
//		plugintest.Provider(t, plugintest.ProviderConfig{
//			New:    func(testing.TB) sdk.Provider { return echo{} },
//			Normal: plugintest.Case{Prompt: "hello"},
//			Slow:   plugintest.Case{Config: json.RawMessage(`{"delay_seconds": 600}`)},
//			Large:  plugintest.Case{Prompt: strings.Repeat("x", 5<<20)},
//		})
//	}
//
// A provider's traits are held to what it does, and what it does to its traits: Full is the case that
// shows all of it where Normal does not.
//
// [Provider], [Termination] and [HookAction] run every check twice: on the component itself, and
// through package serve, a Unix socket and package client, as the kernel would. They watch for
// goroutines that stay behind, so their callers and other tests of the binary must not run in
// parallel with them.
//
// [Exchange] is a recording stand-in for the kernel, for an author's own tests of Execute.
package plugintest
