// Command bench measures the overhead of agent-pipelines and prints one table: each figure beside a
// floor, a peer or a target of the same run. It does not judge times; the user compares tables
// (docs/performance.md).
//
// With -gate it measures some rows and fails if a ratio is worse than recorded. Run it in the
// workspace, as make bench and make bench-gate do.
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

	"github.com/dodo-digital/agent-pipelines/bench/internal/gate"
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

// start reads the flags and runs the command until it ends. SIGINT and SIGTERM cancel it.
func start() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	nothing, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer nothing.Close()
	os.Stdin = nothing // go-plugin passes stdin on, and a plugin ends at the end of a pipe there
	var o options
	flag.StringVar(&o.root, "root", ".", "the `directory` of the workspace")
	flag.StringVar(&o.update, "update", "", "also put the table into this `document`, between its marks")
	flag.StringVar(&o.bash, "bash", "", "also put whole runs beside the Bash engine's, as recorded in this JSON `file`")
	flag.Func("only", "measure these `parts` alone, by the names in the table, with commas between them", func(text string) error {
		o.only = strings.Split(text, ",")
		return nil
	})
	flag.StringVar(&o.gate, "gate", "", "print no table, but compare ratios with those recorded in this JSON `file`, and fail where one is worse")
	flag.StringVar(&o.dir, "dir", "", "measure in this `directory`; without it in the one for temporary files, and with -gate in bin of the workspace, or wherever else a sync reaches a disk")
	flag.BoolVar(&o.record, "record", false, "with -gate: record the ratios again instead")
	smoke := flag.Bool("smoke", false, "measure too little to learn anything, to see that everything runs")
	flag.Parse()
	switch {
	case *smoke:
		o.effort = measure.Smoke()
	case o.record:
		o.effort = measure.Gate(true)
	default:
		o.effort = measure.Full()
	}
	return run(ctx, o, os.Stdout, os.Stderr)
}

type options struct {
	root   string
	update string
	bash   string   // "": no rows that compare with the Bash engine
	only   []string // default: all parts
	gate   string   // "": print the table
	record bool
	dir    string // "": wherever fits
	effort measure.Effort
}

// run prints the table to out and its progress to log.
func run(ctx context.Context, o options, out, log io.Writer) (err error) {
	root, err := filepath.Abs(o.root)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(root, "go.work")); err != nil {
		return fmt.Errorf("%s is not the Go workspace: %w; run bench in it, or name its directory with -root", root, err)
	}
	if err := o.check(); err != nil {
		return err
	}
	var bash *measure.Recorded
	if o.bash != "" {
		if bash, err = measure.ReadRecorded(o.bash); err != nil {
			return err
		}
	}
	if o.gate != "" {
		if _, err := os.Stat(o.gate); err != nil { // fails before anything is built
			return err
		}
	}
	dir, err := o.place(ctx, root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	machine := table.Machine(ctx, root, dir)
	fmt.Fprintf(log, "measuring in %s (%s)\nbuilding the programs\n", filepath.Dir(dir), table.FileSystem(ctx, dir))
	g, err := ground.Prepare(ctx, root, dir)
	if err != nil {
		return err
	}
	measuring := func(part string) { fmt.Fprintln(log, "measuring", part) }
	begun := time.Now()
	defer func() { fmt.Fprintln(log, "measured for", time.Since(begun).Round(time.Second)) }()
	if o.gate != "" {
		return compare(ctx, o, g, machine, out, measuring)
	}
	rows, err := measure.All(ctx, g, o.effort, bash, o.only, measuring)
	if err != nil {
		return err
	}
	text, err := document(rows, machine, bash)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(out, text); err != nil || o.update == "" {
		return err
	}
	return update(o.update, text)
}

// check refuses options that contradict each other, or that would drop rows of a document.
func (o options) check() error {
	switch {
	case len(o.only) > 0 && o.update != "":
		return errors.New("-update puts the whole table into a document: leave -only out")
	case o.gate != "" && (len(o.only) > 0 || o.update != "" || o.bash != ""):
		return errors.New("-gate reads the rows to measure from its file: leave -only, -update and -bash out")
	case o.gate == "" && o.record:
		return errors.New("-record needs -gate, the file to record in")
	}
	if o.update != "" && o.bash == "" {
		if page, err := os.ReadFile(o.update); err == nil && strings.Contains(string(page), "| "+measure.BashEngine) {
			return fmt.Errorf("%s compares with the Bash engine, and the update would drop the comparison: give the figures of the Bash engine with -bash FILE (make: BENCH_BASH=FILE)", o.update)
		}
	}
	return nil
}

// place creates a new directory for the measurements and returns its path.
func (o options) place(ctx context.Context, root string) (string, error) {
	base := o.dir
	if base == "" && o.gate != "" {
		var err error
		if base, err = onDisk(root, func(dir string) string { return table.FileSystem(ctx, dir) }); err != nil {
			return "", err
		}
	}
	return os.MkdirTemp(base, "bench-")
}

// onDisk returns the first directory in which a sync reaches a disk, because the gate's ratios depend on the cost of a
// sync. Directories for temporary files are often in memory.
func onDisk(root string, fileSystem func(dir string) string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	all := []string{filepath.Join(root, "bin"), cache, "/var/tmp", os.TempDir()}
	for _, dir := range all {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			continue
		}
		if kind := fileSystem(dir); kind != "tmpfs" && kind != "ramfs" {
			return dir, nil
		}
	}
	return "", fmt.Errorf("%s are in memory, or cannot be written: a sync costs nothing there, and the ratios say nothing; name a directory on a disk with -dir", strings.Join(all, ", "))
}

// document returns the table with its explanations.
func document(rows []table.Row, machine string, bash *measure.Recorded) (string, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\nMade by `make bench`; one part alone, by its name in the first column: `go run ./bench -only PART`.\n\n", machine)
	if err := table.Write(&text, rows); err != nil {
		return "", err
	}
	if bash != nil {
		fmt.Fprintf(&text, "\n%s", bash.Parity())
	}
	return text.String(), nil
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

// compare measures the rows of the record and compares their ratios with it. With the option record, it renews the
// record instead.
func compare(ctx context.Context, o options, g *ground.Ground, machine string, out io.Writer, progress func(part string)) error {
	record, err := gate.Read(o.gate)
	if err != nil {
		return err
	}
	if !o.record {
		return gate.Run(ctx, record, func(ctx context.Context, parts []string, again bool) ([]table.Row, error) {
			return measure.All(ctx, g, measure.Gate(again), nil, parts, progress)
		}, out)
	}
	rows, err := measure.All(ctx, g, o.effort, nil, record.Parts(), progress)
	if err != nil {
		return err
	}
	if record, err = record.Renew(rows, machine); err != nil {
		return err
	}
	fmt.Fprintln(out, "recorded", len(record.Rows), "ratios in", o.gate)
	return record.Write(o.gate)
}
