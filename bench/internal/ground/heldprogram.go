package ground

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// heldProgram is a program that runs until its standard input is closed.
type heldProgram struct {
	PID int

	command *exec.Cmd
	hold    io.Closer
	output  *bufio.Reader
}

// hold starts the program args[0] with the other arguments.
func (g *Ground) hold(ctx context.Context, environment []string, args ...string) (*heldProgram, error) {
	h := &heldProgram{command: exec.CommandContext(ctx, args[0], args[1:]...)}
	h.command.Env, h.command.Stderr = append(g.environment(), environment...), os.Stderr
	var err error
	if h.hold, err = h.command.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := h.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.output = bufio.NewReader(output)
	if err := h.command.Start(); err != nil {
		return nil, err
	}
	h.PID = h.command.Process.Pid
	return h, nil
}

// ready waits for the line that some programs print when they are ready.
func (h *heldProgram) ready() error {
	if _, err := h.output.ReadString('\n'); err != nil {
		return fmt.Errorf("%s did not get ready: %w", h.command.Path, err)
	}
	return nil
}

// Close ends the program and waits for it.
func (h *heldProgram) Close() error { return errors.Join(h.hold.Close(), h.command.Wait()) }

// kill kills the program and waits for it. It returns err joined with the errors of both.
func (h *heldProgram) kill(err error) error {
	return errors.Join(err, h.command.Process.Kill(), h.command.Wait())
}
