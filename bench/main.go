// Command bench measures what agent-pipelines adds to the work of agents and prints one table: each
// figure beside its floor, its peer or its target, measured in the same run. It judges nothing; a table
// is compared with an older one by a person (docs/performance.md). It is run in the workspace, as
// make bench does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/dodo-digital/agent-pipelines/bench/internal/ground"
	"github.com/dodo-digital/agent-pipelines/bench/internal/measure"
	"github.com/dodo-digital/agent-pipelines/bench/internal/table"
)

func main() {
	if err := start(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// start does what the command line says; a signal ends it.
func start() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.StringVar(&o.root, "root", ".", "the `directory` of the workspace")
	flag.StringVar(&o.update, "update", "", "also put the table into this `document`, between its marks")
	flag.StringVar(&o.bash, "bash", "", "also put whole runs beside the Bash engine's, as recorded in this JSON `file`")
	smoke := flag.Bool("smoke", false, "measure too little to learn anything, to see that everything runs")
	flag.Parse()
	o.effort = measure.Full()
	if *smoke {
		o.effort = measure.Smoke()
	}
	return run(ctx, o, os.Stdout, os.Stderr)
}

type options struct {
	root   string
	update string
	bash   string // "": no rows beside the Bash engine
	effort measure.Effort
}

// run prints the table to out and tells on the way what is being done.
func run(ctx context.Context, o options, out, tell io.Writer) (err error) {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(root, "go.work")); err != nil {
		return fmt.Errorf("%s is not the workspace: %w; run it there, or say where with -root", root, err)
	}
	var bash *measure.Recorded
	if o.bash != "" {
		if bash, err = measure.ReadRecorded(o.bash); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	machine := table.ThisMachine(ctx, root, dir)

	fmt.Fprintln(tell, "building the programs")
	g, err := ground.Prepare(ctx, root, dir)
	if err != nil {
		return err
	}
	begun := time.Now()
	rows, err := measure.All(ctx, g, o.effort, bash, func(part string) { fmt.Fprintln(tell, "measuring", part) })
	if err != nil {
		return err
	}
	fmt.Fprintln(tell, "measured for", time.Since(begun).Round(time.Second))
	var text strings.Builder
	if err := table.Write(&text, rows); err != nil {
		return err
	}
	fmt.Fprintf(&text, "\n%s\n", machine)
	if bash != nil {
		fmt.Fprintf(&text, "\n%s", bash.Parity())
	}
	if _, err := io.WriteString(out, text.String()); err != nil || o.update == "" {
		return err
	}
	return update(o.update, text.String())
}

func update(name, text string) error {
	document, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	changed, err := table.Replace(string(document), text)
	if err != nil {
		return fmt.Errorf("update %s: %w", name, err)
	}
	return os.WriteFile(name, []byte(changed), 0o644)
}
