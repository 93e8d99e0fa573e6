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

// The environment variables of a fake. CallsVariable and NotesVariable are the directories of its calls and of its
// notes, in which "*" means the CLI's name. RecordVariable lists the paths of real CLIs, separated as in PATH. If it
// lists the CLI of the fake's name, the fake runs that CLI and records the call.
const (
	CallsVariable  = "E2E_CALLS"
	NotesVariable  = "E2E_NOTES"
	RecordVariable = "E2E_RECORD"
)

// exitUnforeseen is the exit code of a fake that was called unexpectedly.
const exitUnforeseen = 97

// IsFakeCLI reports whether this process was started under the name of a CLI and with [CallsVariable].
func IsFakeCLI() bool {
	name := filepath.Base(os.Args[0])
	return (name == Claude.Name || name == Codex.Name) && os.Getenv(CallsVariable) != ""
}

// RunFakeCLI acts as the CLI: it replays the next recorded call, or records a call of the real CLI. It returns the exit
// code. If a signal ended the call, that signal also ends this process.
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

// named returns the path in a list whose last element is the name, "" if there is none.
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

// version prints the version of the first recorded call, or runs the real CLI in place of this process.
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

// number reserves the next number of a call. Several processes get different numbers, also if they run at the same
// time.
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

// play repeats the recorded actions. Before it waits for a signal it creates the file waiting, for the sender.
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

// end returns the CLI's exit code, or ends this process by the signal that ended the CLI.
func (c *Call) end() (int, error) {
	if c.Signal == 0 {
		return c.Exit, nil
	}
	signal.Reset(c.Signal)
	if err := syscall.Kill(os.Getpid(), c.Signal); err != nil {
		return 0, err
	}
	<-time.After(10 * time.Second) // another thread may receive the signal a little later
	return 0, fmt.Errorf("signal %d did not end it", c.Signal)
}

// write writes the files that the agent's tools wrote, and the result file.
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
