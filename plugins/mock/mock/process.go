package mock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// errCrash is the error of a crash in tests, where the process does not end.
var errCrash = errors.New("mock: the process has ended")

// process gives a component access to its plugin process.
type process struct {
	getenv func(string) string
	stderr io.Writer
	end    func(how string, code int)
}

func currentProcess() process {
	return process{getenv: os.Getenv, stderr: os.Stderr, end: endProcess}
}

// endProcess ends the process and does not return. It panics in another goroutine, because the SDK turns the panic of a
// call into a failure.
func endProcess(how string, code int) {
	switch how {
	case "panic":
		var wg sync.WaitGroup
		wg.Go(func() { panic("mock: configured panic") })
		wg.Wait()
	case "kill":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // cannot fail for a process's own id
		select {}
	default:
		os.Exit(max(code, 1))
	}
}

// crash ends the process unless how is "".
func (p process) crash(how string, code int) error {
	if how == "" {
		return nil
	}
	p.end(how, code)
	return errCrash
}

// log writes a line to the plugin's standard error.
func (p process) log(line string) error {
	if line == "" {
		return nil
	}
	if _, err := fmt.Fprintln(p.stderr, line); err != nil {
		return fmt.Errorf("mock: write log: %w", err)
	}
	return nil
}

// applyFault applies the fault to a call without output: log, delay, hang, crash, failure.
func (p process) applyFault(ctx context.Context, f Fault, kind failure.Kind) error {
	if err := p.log(f.Log); err != nil {
		return err
	}
	if f.DelayMS != nil {
		if err := f.pause(ctx, milliseconds(*f.DelayMS)); err != nil {
			return err
		}
	}
	if f.Hang {
		return f.pause(ctx, forever)
	}
	if err := p.crash(f.Crash, 0); err != nil {
		return err
	}
	if f.Failure != nil {
		return f.Failure.newError(kind)
	}
	return nil
}
