package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// second is the iteration that does not end.
const second = 2

// crowd runs sessions until ctx ends, and calls hold when all are working. The others start after
// the first one works, so that the plugins' descriptions are cached, as usual.
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
			defer begun() // also after a failed start
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

// agent writes a result in its first iteration, and waits for its cancellation in the second.
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

// small is the state of each goroutine of the floor, about as large as that of a session.
type small [4 << 10]byte

// files runs goroutines with an open file and a small state each until ctx ends, and calls hold
// when all are ready.
func files(ctx context.Context, dir string, n int, hold func()) error {
	var waiting sync.WaitGroup
	defer waiting.Wait()
	arrived := gather(n, &waiting, hold)
	return all(ctx, n, func(ctx context.Context, i int) error {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%04d.jsonl", i)))
		if err != nil {
			return err
		}
		s := &small{}
		for j := range s {
			s[j] = byte(i + j)
		}
		_, err = f.Write(s[:])
		arrived()
		<-ctx.Done()
		runtime.KeepAlive(s)
		return errors.Join(err, f.Close())
	})
}
