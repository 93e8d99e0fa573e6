// Command agent-pipelines runs pipelines of coding agents: flags in, the kernel called, text or JSON
// and an exit code out.
//
// It decides nothing about pipelines; package kernel does. Start with the type line in line.go, which
// is the grammar of the command line, with exit.go, the table of exit codes, and with perform.go,
// which runs a session in the foreground. There is one file for each verb.
package main

import (
	"context"
	"os"

	"github.com/dodo-digital/agent-pipelines/engine"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == confineVerb {
		os.Exit(engine.Confine(os.Args[2:]))
	}
	os.Exit(int(run(context.Background(), os.Args[1:], console{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv})))
}
