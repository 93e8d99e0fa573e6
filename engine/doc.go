// Package engine is the embeddable engine of agent-pipelines: it compiles pipelines, runs them
// durably, resumes them after any crash, and hosts the plugins that do the work.
//
//	engine, err := kernel.NewEngine(kernel.WithWorkDir("/path/to/project"))
//	...
//	defer engine.Close(ctx)
//	result, err := engine.Run(ctx, kernel.RunOptions{Pipeline: "refine", Session: "my-session"})
//
// An engine has no global state; several may live in one process. Start with [NewEngine] and
// [Engine.Run]; docs/architecture.md is the picture of what is behind.
package engine
