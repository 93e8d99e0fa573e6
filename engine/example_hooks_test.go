package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// A run pauses after every fifth iteration; the text that it is resumed with reaches the agent as feedback.
func ExampleEngine_OnIterationEnd() {
	project, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(project)
	ctx := context.Background()
	eng, err := engine.NewEngine(engine.WithWorkDir(project), engine.WithProvider(scribe{}), engine.WithDefaultProvider("scribe"), engine.WithoutDelays())
	if err != nil {
		log.Print(err)
		return
	}
	defer eng.Close(ctx)
	eng.OnIterationEnd(func(ctx *engine.HookContext) engine.HookResult {
		if ctx.Iteration%5 == 0 {
			return engine.Pause("Checkpoint: please review progress")
		}
		return engine.Continue()
	})
	eng.OnResume(func(_ *engine.HookContext, input string) engine.HookResult {
		if input == "" {
			return engine.Continue() // resumed without a word
		}
		return engine.ModifyContext("User feedback: " + input)
	})
	eng.OnIterationStart(func(ctx *engine.HookContext) engine.HookResult {
		if ctx.Injected != "" {
			fmt.Printf("iteration %d hears: %s\n", ctx.Iteration, ctx.Injected)
		}
		return engine.Continue()
	})
	result, err := eng.Run(ctx, engine.RunOptions{
		Text: `{name: essay, nodes: [{id: write, prompt: "Go on writing.", runs: 7}]}`, Session: "essay",
	})
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(result.Status, result.Stages[0].Iterations, result.Reason)
	result, err = eng.Resume(ctx, engine.ResumeOptions{Session: "essay", Context: "focus on X"})
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(result.Status, result.Stages[0].Iterations)
	// Output:
	// paused 5 Checkpoint: please review progress
	// iteration 6 hears: User feedback: focus on X
	// completed 7
}
