package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// echoProvider is a provider that returns its prompt.
type echoProvider struct{}

func (echoProvider) Describe() sdk.Component { return sdk.Component{Name: "scribe"} }

func (echoProvider) Execute(_ context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
	err := os.WriteFile(req.Paths.Result, []byte(`{"summary": "written down"}`), 0o644)
	return sdk.ExecuteResult{Output: req.Prompt}, err
}

// Run a pipeline to its end and print its stages.
func ExampleEngine_Run() {
	project, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(project)
	ctx := context.Background()
	eng, err := engine.NewEngine(engine.WithWorkDir(project), engine.WithProvider(echoProvider{}), engine.WithDefaultProvider("scribe"), engine.WithoutDelays())
	if err != nil {
		log.Print(err)
		return
	}
	defer eng.Close(ctx)
	result, err := eng.Run(ctx, engine.RunOptions{
		Text: `
name: poem
nodes:
  - {id: draft, prompt: "Write a poem about ${CONTEXT}."}
  - {id: polish, prompt: "Make it better.", runs: 3, inputs: {from: draft}}
`,
		Session: "poem", Context: "the sea",
	})
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(result.Status, result.Success)
	for _, stage := range result.Stages {
		fmt.Println(stage.ID, stage.Status, stage.Iterations)
	}
	// Output:
	// completed true
	// draft complete 1
	// polish complete 3
}

// Follow the events of a session while it runs.
func ExampleEngine_SubscribeSession() {
	project, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(project)
	ctx := context.Background()
	eng, err := engine.NewEngine(engine.WithWorkDir(project), engine.WithProvider(echoProvider{}), engine.WithoutDelays())
	if err != nil {
		log.Print(err)
		return
	}
	defer eng.Close(ctx)
	updates := eng.SubscribeSession("poem", 100)
	var reader sync.WaitGroup
	reader.Go(func() {
		for u := range updates.Updates {
			if u.Missed > 0 {
				fmt.Println("too slow: the journal has the missing events")
			}
			if u.Event == nil {
				continue // an agent's report, or warnings
			}
			switch u.Event.Type {
			case event.NodeStart, event.SessionComplete:
				fmt.Println(u.Event.Type)
			case event.IterationComplete:
				done, err := event.Decode[event.IterationCompleteData](*u.Event)
				fmt.Println(u.Event.Type, u.Event.Cursor.Iteration, done.Summary, err)
			}
		}
	})
	_, err = eng.Run(ctx, engine.RunOptions{Text: "{name: poem, nodes: [{id: draft, provider: scribe, prompt: write, runs: 2}]}", Session: "poem"})
	updates.Close()
	reader.Wait()
	if err != nil {
		log.Print(err)
	}
	// Output:
	// node_start
	// iteration_complete 1 written down <nil>
	// iteration_complete 2 written down <nil>
	// session_complete
}

// A run pauses after every fifth iteration; the text of the resume reaches the agent as feedback.
func ExampleEngine_OnIterationEnd() {
	project, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(project)
	ctx := context.Background()
	eng, err := engine.NewEngine(engine.WithWorkDir(project), engine.WithProvider(echoProvider{}), engine.WithDefaultProvider("scribe"), engine.WithoutDelays())
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
			return engine.Continue() // resumed without a text
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
		Text: `{name: essay, nodes: [{id: write, prompt: "Continue writing.", runs: 7}]}`, Session: "essay",
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

// shoutingProvider is a provider: one Execute is one whole attempt at an iteration.
type shoutingProvider struct{}

// Describe names the provider. Sessions may call it concurrently; ConcurrencySerial would forbid that.
func (shoutingProvider) Describe() sdk.Component {
	return sdk.Component{Name: "shouter", Summary: "says it louder", Concurrency: sdk.ConcurrencySafe}
}

// Execute does the work, writes a result to the requested path, and returns its output.
func (shoutingProvider) Execute(_ context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	if req.Prompt == "" {
		return sdk.ExecuteResult{}, failure.New(failure.ProviderFailed, "there is nothing to shout").WithHint("write a prompt")
	}
	x.Progress(sdk.Progress{Message: "taking breath"})
	err := os.WriteFile(req.Paths.Result, []byte(`{"summary": "shouted", "decision": "stop", "reason": "loud enough"}`), 0o644)
	return sdk.ExecuteResult{Output: strings.ToUpper(req.Prompt) + "!"}, err
}

// Register a provider and use it in a stage.
func ExampleEngine_RegisterProvider() {
	project, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(project)
	ctx := context.Background()
	eng, err := engine.NewEngine(engine.WithWorkDir(project))
	if err != nil {
		log.Print(err)
		return
	}
	defer eng.Close(ctx)
	if err := eng.RegisterProvider(shoutingProvider{}); err != nil {
		log.Print(err)
		return
	}
	result, err := eng.Run(ctx, engine.RunOptions{Text: "{name: greet, nodes: [{id: hello, provider: shouter, prompt: hello, runs: 5}]}"})
	if err != nil {
		log.Print(err)
		return
	}
	output, err := os.ReadFile(result.Stages[0].Output)
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(result.Stages[0].Iterations, result.Stages[0].Reason)
	fmt.Print(string(output))
	// Output:
	// 1 Agent requested stop at iteration 1
	// HELLO!
}
