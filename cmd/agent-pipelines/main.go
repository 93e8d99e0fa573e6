// Command agent-pipelines runs pipelines of coding agents: flags in, the engine called, text or JSON
// and an exit code out.
//
// It decides nothing about pipelines; package engine does. Start with the type line in line.go, which
// is the grammar of the command line, with exit.go, the table of exit codes, and with perform.go,
// which runs a session in the foreground. There is one file for each verb.
package main

import (
	"context"
	"os"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/engine"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == cli.Confine {
		os.Exit(engine.Confine(os.Args[2:]))
	}
	os.Exit(int(execute(context.Background(), os.Args[1:], cli.Console{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv})))
}
