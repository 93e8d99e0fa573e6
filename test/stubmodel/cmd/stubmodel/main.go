// Command stubmodel runs the model service of package stubmodel as a program. Use it to try an agent CLI with a
// script, or for tests in other languages.
//
//	stubmodel [-script name=file.json ...]
//
// It prints the base URL as its first line and runs until SIGINT or SIGTERM. Exit code 2 means that its arguments were
// wrong.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/test/stubmodel"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	server := stubmodel.New()
	defer server.Close()
	flag.Func("script", "load a script: `name=file` (may be repeated)", func(value string) error { return load(server, value) })
	flag.Parse()
	fmt.Println(server.URL())
	<-ctx.Done()
}

// load loads the script of an argument name=file.
func load(server *stubmodel.Server, value string) error {
	name, file, _ := strings.Cut(value, "=")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	script, err := stubmodel.Parse(text)
	if err != nil {
		return err
	}
	return server.SetScript(name, script)
}
