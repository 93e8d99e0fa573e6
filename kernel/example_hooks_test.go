package kernel_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/dodo-digital/agent-pipelines/kernel"
)

// A run pauses after every fifth iteration; the text that it is resumed with reaches the agent as feedback.
func ExampleEngine_OnIterationEnd() {
	project, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(project)
	ctx := context.Background()
	engine, err := kernel.NewEngine(kernel.WithWorkDir(project), kernel.WithProvider(scribe{}), kernel.WithDefaultProvider("scribe"), kernel.WithoutDelays())
	if err != nil {
		log.Print(err)
		return
	}
	defer engine.Close(ctx)
	engine.OnIterationEnd(func(ctx *kernel.HookContext) kernel.HookResult {
		if ctx.Iteration%5 == 0 {
			return kernel.Pause("Checkpoint: please review progress")
		}
		return kernel.Continue()
	})
	engine.OnResume(func(_ *kernel.HookContext, input string) kernel.HookResult {
		if input == "" {
			return kernel.Continue() // resumed without a word
		}
		return kernel.ModifyContext("User feedback: " + input)
	})
	engine.OnIterationStart(func(ctx *kernel.HookContext) kernel.HookResult {
		if ctx.Injected != "" {
			fmt.Printf("iteration %d hears: %s\n", ctx.Iteration, ctx.Injected)
		}
		return kernel.Continue()
	})
	result, err := engine.Run(ctx, kernel.RunOptions{
		Text: `{name: essay, nodes: [{id: write, prompt: "Go on writing.", runs: 7}]}`, Session: "essay",
	})
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(result.Status, result.Stages[0].Iterations, result.Reason)
	result, err = engine.Resume(ctx, kernel.ResumeOptions{Session: "essay", Context: "focus on X"})
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
