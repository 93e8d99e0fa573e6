// Command agent-pipelines runs pipelines of coding agents. It parses flags, calls package engine, and prints text or JSON.
//
// Start with the type Commands in line.go, the grammar of the command line. The verbs are in internal/verb, one package per
// group; the exit codes are in internal/cli; internal/verb/run runs a session in the foreground (perform).
package main

import (
	"context"
	"os"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	_ "github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/startup"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/verb/plugins"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/serve"
)

func main() {
	if code, served := plugins.Serve(bundled, os.Args[1:]); served {
		os.Exit(code)
	}
	serve.DenyMemoryAccess() // the environment holds the secrets of the user, and agents run as the user
	os.Exit(int(execute(context.Background(), os.Args[1:], cli.Console{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv})))
}
