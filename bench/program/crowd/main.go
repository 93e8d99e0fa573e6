// Command crowd keeps many sessions in their second iteration in one engine until its standard input is closed.
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
	var reading sync.WaitGroup
	reading.Go(func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // an error also means that the caller has ended
		stop()
	})
	err := crowd(ctx, *dir, *plugins, *sessions)
	if err == nil { // the input has ended
		reading.Wait()
	}
	return err
}

// second is the iteration that does not end.
const second = 2

// crowd runs sessions until ctx ends. The other sessions start after the first one reaches its second iteration, so
// that the plugins' descriptions are cached, as usual.
func crowd(ctx context.Context, dir, plugins string, sessions int) (err error) {
	first, begun := context.WithCancel(context.WithoutCancel(ctx))
	defer begun()
	cache := filepath.Join(dir, "cache")
	observe := func(u engine.Update) {
		if u.Event != nil && u.Event.Type == event.IterationStart && u.Event.Cursor.Iteration == second {
			begun()
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
