package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// shouter is a provider: one Execute is one whole attempt at an iteration.
type shouter struct{}

// Describe says what pipelines call it. Sessions may call it at the same time; ConcurrencySerial would forbid that.
func (shouter) Describe() sdk.Component {
	return sdk.Component{Name: "shouter", Summary: "says it louder", Concurrency: sdk.ConcurrencySafe}
}

// Execute does the work, leaves a result where it is asked to, and says what it did.
func (shouter) Execute(_ context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	if req.Prompt == "" {
		return sdk.ExecuteResult{}, failure.New(failure.ProviderFailed, "there is nothing to shout").WithHint("write a prompt")
	}
	x.Progress(sdk.Progress{Message: "taking breath"})
	err := os.WriteFile(req.Paths.Result, []byte(`{"summary": "shouted", "decision": "stop", "reason": "loud enough"}`), 0o644)
	return sdk.ExecuteResult{Output: strings.ToUpper(req.Prompt) + "!"}, err
}

// A program registers a provider of its own, and a stage uses it.
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
	if err := eng.RegisterProvider(shouter{}); err != nil {
		log.Print(err)
		return
	}
	result, err := eng.Run(ctx, engine.RunOptions{Text: "{name: greet, nodes: [{id: hello, provider: shouter, prompt: hello, runs: 5}]}"})
	if err != nil {
		log.Print(err)
		return
	}
	said, err := os.ReadFile(result.Stages[0].Output)
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(result.Stages[0].Iterations, result.Stages[0].Reason)
	fmt.Print(string(said))
	// Output:
	// 1 Agent requested stop at iteration 1
	// HELLO!
}
