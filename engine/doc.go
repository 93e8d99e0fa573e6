// Package engine is the embeddable engine of agent-pipelines: it compiles pipelines, runs them durably,
// resumes them after a crash, and hosts the plugins that do the work.
//
//	e, err := engine.NewEngine(engine.WithWorkDir("/path/to/project"))
//	...
//	defer e.Close(ctx)
//	result, err := e.Run(ctx, engine.RunOptions{Pipeline: "refine", Session: "my-session"})
//
// An engine has no global state; several may run in one process. Start with [NewEngine] and [Engine.Run];
// docs/architecture.md describes the packages in its subdirectories.
package engine
