// Command embedder is a program that embeds the engine. It runs the pipeline of its first argument; its second
// argument is the number of concurrent sessions. When its standard input ends, it cancels them, closes the engine,
// prints "closed" and continues to run. Processes that remain then would stay for the life of such a program.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"github.com/dodo-digital/agent-pipelines/engine"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "__sandbox" {
		os.Exit(engine.Confine(os.Args[2:]))
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "embedder:", err)
		os.Exit(1)
	}
	select {} // the process continues, as a service does
}

func run(pipeline, sessions string) error {
	n, err := strconv.Atoi(sessions)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	eng, err := engine.NewEngine(engine.WithSandboxHelper(self, "__sandbox"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	faults := make([]error, n)
	for i := range n {
		running.Go(func() {
			_, faults[i] = eng.Run(ctx, engine.RunOptions{Pipeline: pipeline, Session: "s" + strconv.Itoa(i)})
		})
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	cancel()
	running.Wait()
	err = errors.Join(errors.Join(faults...), eng.Close(context.Background()))
	fmt.Println("closed")
	return err
}
