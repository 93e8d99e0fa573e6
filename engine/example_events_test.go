package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// A program follows what happens in a session while it runs.
func ExampleEngine_SubscribeSession() {
	project, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(project)
	ctx := context.Background()
	eng, err := engine.NewEngine(engine.WithWorkDir(project), engine.WithProvider(scribe{}), engine.WithoutDelays())
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
				fmt.Println("too slow: the journal has what is missing here")
			}
			if u.Event == nil {
				continue // a report of an agent, or warnings
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
