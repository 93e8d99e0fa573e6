// Command bareserver answers gRPC calls on a Unix socket until its standard input is closed.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"github.com/dodo-digital/agent-pipelines/bench/internal/bare"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bareserver:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return errors.New("usage: bareserver <socket>")
	}
	l, err := net.Listen("unix", os.Args[1])
	if err != nil {
		return err
	}
	if _, err := fmt.Println("ready"); err != nil {
		return err
	}
	var waiting sync.WaitGroup
	waiting.Go(func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // an error also means that the caller has ended
		_ = l.Close()
	})
	err = bare.Serve(l)
	waiting.Wait()
	return err
}
