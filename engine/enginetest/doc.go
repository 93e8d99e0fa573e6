// Package enginetest tests pipelines: it runs them in a project of their own, with agents that do what the test
// says, and looks at what came of it.
//
//	func TestShip(t *testing.T) {
//		s := enginetest.NewMockSession(t, enginetest.Fixtures{
//			Project:   os.DirFS("../.."), // whose .claude/pipelines/ship.yaml is tested
//			Run:       kernel.RunOptions{Pipeline: "ship"},
//			Providers: []string{"claude"},
//			Replies: []enginetest.Reply{
//				{Node: "build", Iteration: 2, Decision: "stop", Reason: "nothing is left"},
//			},
//		})
//		s.Run()
//		enginetest.AssertStateStatus(t, s, state.Completed)
//		enginetest.AssertIterationCount(t, s, 3)
//	}
//
// A pipeline that comes back to a stage is tested by its way: [AssertPath], [AssertCycles], [AssertPrompts].
//
// Everything but the agents, and the checks where the fixtures have any, is real: the compiler, the scheduler, the files of the session. Nothing of the machine
// is seen: no plugin, configuration or environment of the user, unless [Fixtures].Options say so. Delays between
// iterations are left out; the waits before a retry are those of the pipeline (policy.retry.backoff).
//
// It does not test providers; package plugintest of the plugin-sdk does. Start with [NewMockSession].
package enginetest
