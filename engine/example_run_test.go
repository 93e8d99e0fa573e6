package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/engine"
)

// scribe is an agent of this program: it says what it was asked.
type scribe struct{}

func (scribe) Describe() sdk.Component { return sdk.Component{Name: "scribe"} }

func (scribe) Execute(_ context.Context, req sdk.ExecuteRequest, _ sdk.Exchange) (sdk.ExecuteResult, error) {
	err := os.WriteFile(req.Paths.Result, []byte(`{"summary": "written down"}`), 0o644)
	return sdk.ExecuteResult{Output: req.Prompt}, err
}

// A pipeline is run to its end, and its stages are looked at.
func ExampleEngine_Run() {
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
