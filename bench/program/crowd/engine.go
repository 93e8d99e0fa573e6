package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// second is the iteration that nobody ends.
const second = 2

// crowd runs sessions until ctx ends, and calls hold when all of them are at work. The others begin when the first one is at
// work: what plugins say of themselves is then remembered, as it usually is.
func crowd(ctx context.Context, dir, plugins string, sessions int, hold func()) (err error) {
	var waiting sync.WaitGroup
	defer waiting.Wait()
	count := gather(sessions, &waiting, hold)
	first, begun := context.WithCancel(context.WithoutCancel(ctx))
	defer begun()
	arrived := func() { begun(); count() }
	cache := filepath.Join(dir, "cache")
	options := []engine.Option{engine.WithWorkDir(dir), engine.WithConfigDir(os.Getenv("HOME")), engine.WithCacheDir(cache), engine.WithExecutable("-"), engine.WithoutDelays()}
	observe := func(engine.Update) {}
	if plugins == "" {
		options = append(options, engine.WithProvider(agent{arrived}))
	} else {
		options = append(options, engine.WithPluginDirs(plugins))
		observe = func(u engine.Update) {
			if u.Event != nil && u.Event.Type == event.IterationStart && u.Event.Cursor.Iteration == second {
				arrived()
			}
		}
	}
	eng, err := engine.NewEngine(options...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close(context.WithoutCancel(ctx))) }()
	return all(ctx, sessions, func(ctx context.Context, i int) error {
		if i == 0 {
			defer begun() // also if it cannot begin
		} else {
			<-first.Done()
		}
		result, err := eng.Run(ctx, engine.RunOptions{Pipeline: "bench", Session: fmt.Sprintf("s%04d", i), Observe: observe})
		if err == nil && result.Status != "paused" {
			err = fmt.Errorf("it ended as %s: %s", result.Status, result.Reason)
		}
		if err != nil {
			return fmt.Errorf("session %d: %w", i, err)
		}
		return nil
	})
}

// agent does the least that an agent does, and in its second iteration nothing until it is called off.
type agent struct{ arrived func() }

func (agent) Describe() sdk.Component {
	return sdk.Component{Kind: sdk.KindProvider, Name: "inside", Concurrency: sdk.ConcurrencySafe, Provider: &sdk.ProviderTraits{}}
}

func (a agent) Execute(ctx context.Context, req sdk.ExecuteRequest, x sdk.Exchange) (sdk.ExecuteResult, error) {
	if req.Iteration >= second {
		a.arrived()
		<-ctx.Done()
		return sdk.ExecuteResult{}, context.Cause(ctx)
	}
	x.Output(sdk.OutputChunk{Stream: sdk.StreamText, Text: "Did it.\n"})
	return sdk.ExecuteResult{}, os.WriteFile(req.Paths.Result, []byte(`{"summary":"did it"}`), 0o600)
}
