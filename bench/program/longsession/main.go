// Command longsession extends a session to a number of iterations, to examine the cost of its size.
// The session has one stage and was interrupted in its third iteration.
package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/dodo-digital/agent-pipelines/bench/internal/past"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "longsession:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: longsession <directory of a session> <iterations>")
	}
	iterations, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	events, err := past.Give(args[0], iterations)
	if err == nil {
		fmt.Println(events, "events")
	}
	return err
}
