package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
)

//go:embed disputed.txt
var disputed string

func main() {
	cases := flag.String("cases", "", "directory that holds one directory for each case")
	flag.Parse()
	if err := run(*cases, flag.Args(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "parity:", err)
		os.Exit(1)
	}
}

// run starts the referee, passes its output on and adds the verdict; the referee's own count is the last line.
func run(cases string, command []string, out io.Writer) error {
	entries, err := os.ReadDir(cases)
	if err != nil {
		return fmt.Errorf("read the cases: %w", err)
	}
	if len(command) == 0 {
		return errors.New("which referee? parity -cases DIR COMMAND [ARGUMENT...]")
	}
	var report bytes.Buffer
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(out, &report), os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("run the referee: %w", err)
	}
	v, err := judge(report.String(), cmd.ProcessState.ExitCode(), len(entries), listed(disputed))
	if err != nil {
		return fmt.Errorf("the referee's report cannot be trusted: %w", err)
	}
	v.print(out)
	if len(v.undisputed) > 0 {
		return fmt.Errorf("%d lines of FAIL that test/parity/disputed.txt does not list", len(v.undisputed))
	}
	return nil
}
