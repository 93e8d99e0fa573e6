// Command crowd keeps many sessions in their second iteration in one engine until its standard
// input is closed. It prints a line when all are ready.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/kernel/event"

	"golang.org/x/sync/errgroup"
)

func main() {
	if err := start(); err != nil {
		fmt.Fprintln(os.Stderr, "crowd:", err)
		os.Exit(1)
	}
}

func start() error {
	dir := flag.String("dir", ".", "the project's `directory`, with the pipeline bench")
	plugins := flag.String("plugins", "", "the `directory` of plugins")
	sessions := flag.Int("sessions", 1, "how many there are")
	flag.Parse()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	hold := func() { // called when all are working
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin) // an error also means that the caller has ended
		stop()
	}
	return crowd(ctx, *dir, *plugins, *sessions, hold)
}

// gather returns a function whose n-th call starts hold in a goroutine of waiting.
func gather(n int, waiting *sync.WaitGroup, hold func()) (arrived func()) {
	var mu sync.Mutex
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if n--; n == 0 {
			waiting.Go(hold)
		}
	}
}

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
	observe := func(u engine.Update) {
		if u.Event != nil && u.Event.Type == event.IterationStart && u.Event.Cursor.Iteration == second {
			arrived()
		}
	}
	eng, err := engine.NewEngine(engine.WithWorkDir(dir), engine.WithConfigDir(os.Getenv("HOME")), engine.WithCacheDir(cache),
		engine.WithExecutable("-"), engine.WithoutDelays(), engine.WithPluginDirs(plugins))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close(context.WithoutCancel(ctx))) }()
	running, ctx := errgroup.WithContext(ctx)
	for i := range sessions {
		running.Go(func() error {
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
	return running.Wait()
}
