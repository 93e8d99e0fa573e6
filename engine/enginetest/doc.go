// Package enginetest tests pipelines: it runs them in projects of their own, with mock agents, and checks the
// result.
//
//	s := enginetest.NewMockSession(t, enginetest.Fixtures{
//		Project: os.DirFS("../.."), // with .claude/pipelines/ship.yaml
//		Run:     engine.RunOptions{Pipeline: "ship"},
//	})
//	s.Run()
//	enginetest.AssertIterationCount(t, s, 3)
//
// Compiler, scheduler and session files are real; only agents and checks are mocked. The user's plugins,
// configuration and environment are not visible unless [Fixtures].Options add them. Delays between iterations are
// skipped; policy.retry.backoff applies. Package plugintest of the plugin-sdk tests providers.
package enginetest
