// Command stubmodel runs the model service of package stubmodel by hand: for trying an agent CLI
// against a script, or for tests in other languages.
//
//	stubmodel [-script name=file.json ...]
//
// It prints the base URL as its first line and runs until SIGINT or SIGTERM. Exit code 1 means that
// it could not start, 2 that its arguments were wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/test/stubmodel"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run serves until ctx ends and returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	scripts := map[string]string{}
	flags := flag.NewFlagSet("stubmodel", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Func("script", "load a script: `name=file` (may be repeated)", func(value string) error {
		name, file, ok := strings.Cut(value, "=")
		if !ok {
			return errors.New("want name=file")
		}
		scripts[name] = file
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := serve(ctx, scripts, stdout); err != nil {
		fmt.Fprintln(stderr, "stubmodel:", err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, scripts map[string]string, stdout io.Writer) error {
	server := stubmodel.New()
	defer server.Close()
	for name, file := range scripts {
		if err := load(server, name, file); err != nil {
			return err
		}
	}
	fmt.Fprintln(stdout, server.URL())
	<-ctx.Done()
	return nil
}

func load(server *stubmodel.Server, name, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	script, err := stubmodel.Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return server.SetScript(name, script)
}
