// Command crowd holds many sessions in one engine until its standard input is closed, each in its
// second iteration, and prints a line when all are ready. With -floor it holds as many goroutines
// with an open file and a small state instead.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sync/errgroup"
)

// ready is the printed line.
type ready struct {
	Goroutines int `json:"goroutines"`
}

func main() {
	if err := start(); err != nil {
		fmt.Fprintln(os.Stderr, "crowd:", err)
		os.Exit(1)
	}
}

func start() error {
	dir := flag.String("dir", ".", "the project's `directory`, with the pipeline bench")
	plugins := flag.String("plugins", "", "the `directory` of plugins; without one an agent of this process works")
	sessions := flag.Int("sessions", 1, "how many there are")
	floor := flag.Bool("floor", false, "hold goroutines with a file each, and no engine")
	settle := flag.Bool("settle", false, "give back the memory that is not in use before the line")
	flag.Parse()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	hold := func() { // called when all are working
		if *settle {
			debug.FreeOSMemory() // runs the garbage collector first
		}
		_ = json.NewEncoder(os.Stdout).Encode(ready{runtime.NumGoroutine()})
		_, _ = io.Copy(io.Discard, os.Stdin) // an error also means that the caller has ended
		stop()
	}
	if *floor {
		return files(ctx, *dir, *sessions, hold)
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

// all runs n calls of one concurrently. If one fails, it cancels the others.
func all(ctx context.Context, n int, one func(ctx context.Context, i int) error) error {
	running, ctx := errgroup.WithContext(ctx)
	for i := range n {
		running.Go(func() error { return one(ctx, i) })
	}
	return running.Wait()
}
