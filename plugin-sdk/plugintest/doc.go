// Package plugintest is the conformance suite for plugins, for the tests of their authors:
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
// [Provider], [Termination] and [HookAction] try the rows of package verify that need no process, over
// a socket. They detect leaked goroutines: do not run them in parallel with other tests. [Binary]
// tries all rows on a plugin's binary. [Exchange] is a recording fake of the kernel for other tests.
package plugintest
