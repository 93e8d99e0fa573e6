package e2ereal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The environment of a fake: the directories of its calls and of its notes; in both "*" stands for the
// CLI's name. RecordVariable lists the paths of real CLIs, separated as in PATH. If it is set, the fake
// runs the CLI of its name and records the call in the directory of CallsVariable.
const (
	CallsVariable  = "E2E_CALLS"
	NotesVariable  = "E2E_NOTES"
	RecordVariable = "E2E_RECORD"
)

// exitUnforeseen is the exit code of a fake that was called unexpectedly.
const exitUnforeseen = 97

// IsFakeCLI reports whether this process was started in the place of a CLI: under its name.
func IsFakeCLI() bool {
	name := filepath.Base(os.Args[0])
	return (name == Claude.Name || name == Codex.Name) && os.Getenv(CallsVariable) != ""
}

// RunFakeCLI acts as the CLI: it replays the next recorded call, or records one of the real CLI. It returns the exit
// code; it does not return if the call ended by a signal.
func RunFakeCLI() int {
	name := filepath.Base(os.Args[0])
	own := func(variable string) string { return strings.ReplaceAll(os.Getenv(variable), "*", name) }
	code, err := fakeCLI(own(CallsVariable), own(NotesVariable), named(name, os.Getenv(RecordVariable)))
	if err != nil {
		fmt.Fprintf(os.Stderr, "fake of %s: %v\n", os.Args[0], err)
		return exitUnforeseen
	}
	return code
}

// named is the path in a list that ends in a name, "" if none does.
func named(name, list string) string {
	for _, path := range filepath.SplitList(list) {
		if filepath.Base(path) == name {
			return path
		}
	}
	return ""
}

func fakeCLI(calls, notes, cli string) (int, error) {
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		return version(calls, cli)
	}
	n, err := number(notes)
	if err != nil {
		return 0, err
	}
	if cli != "" {
		return record(cli, calls, n)
	}
	call, err := LoadCall(calls, n)
	if err != nil {
		return 0, fmt.Errorf("call %d was not recorded: %w", n, err)
	}
	return call.play(noteFile(notes, n, "waiting"))
}

// version answers as the first recorded call says.
func version(calls, cli string) (int, error) {
	if cli != "" {
		return 0, syscall.Exec(cli, os.Args, os.Environ())
	}
	call, err := LoadCall(calls, 1)
	if err == nil {
		fmt.Println(call.Version)
	}
	return 0, err
}

func noteFile(notes string, n int, name string) string {
	return filepath.Join(notes, strconv.Itoa(n)+"."+name)
}

// number takes the next number of a call: several processes, one after the other or at once, each get
// one of their own.
func number(notes string) (int, error) {
	for n := 1; ; n++ {
		file, err := os.OpenFile(noteFile(notes, n, "pid"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		_, err = fmt.Fprintln(file, os.Getpid())
		return n, errors.Join(err, file.Close())
	}
}

// play repeats the recorded actions. Before it waits it creates the file waiting, for the process that ends it.
func (c *Call) play(waiting string) (int, error) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	prompt, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 0, err
	}
	if len(prompt) == 0 {
		return 0, errors.New("no prompt came on stdin")
	}
	err = errors.Join(c.write(prompt), writeAll(os.Stderr, c.Stderr), writeAll(os.Stdout, c.Stdout))
	if err != nil {
		return 0, err
	}
	if c.Waits {
		if err := os.WriteFile(waiting, nil, 0o644); err != nil {
			return 0, err
		}
		<-signals
		if err := writeAll(os.Stdout, c.Last); err != nil {
			return 0, err
		}
	}
	return c.end()
}

// end ends as the CLI did: with its exit code, or by the signal.
func (c *Call) end() (int, error) {
	if c.Signal == 0 {
		return c.Exit, nil
	}
	signal.Reset(c.Signal)
	if err := syscall.Kill(os.Getpid(), c.Signal); err != nil {
		return 0, err
	}
	<-time.After(10 * time.Second) // another thread may be the one that gets it
	return 0, fmt.Errorf("signal %d did not end it", c.Signal)
}

// write makes the files that the agent's tools made.
func (c *Call) write(prompt []byte) error {
	for path, text := range c.Files {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if c.Result == nil {
		return nil
	}
	named := resultFile.FindSubmatch(prompt)
	if named == nil {
		return errors.New("the prompt names no result file")
	}
	return os.WriteFile(string(named[1]), []byte(*c.Result), 0o644)
}

func writeAll(to io.Writer, text []byte) error {
	_, err := to.Write(text)
	return err
}
