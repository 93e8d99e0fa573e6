package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/cli"
	"github.com/dodo-digital/agent-pipelines/cmd/agent-pipelines/internal/document"
	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/authoring"
)

// detachedHost is a session's process without a terminal. It is not safe for concurrent use.
type detachedHost struct {
	cmd    *exec.Cmd
	log    *backgroundLog
	waiter sync.WaitGroup
	ended  chan struct{} // closed when the process has ended
}

// detach starts this program again in a new process session (setsid), so that it survives the terminal. Its output goes
// to the session's log.
func detach(a *cli.App, e *engine.Engine, r startRequest, session string) (*detachedHost, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the path of this program: %w", err)
	}
	text, err := json.Marshal(newChildArgs(a.GlobalFlags, r))
	if err != nil {
		return nil, fmt.Errorf("encode the session's arguments: %w", err)
	}
	log, err := openBackgroundLog(e.WorkDir(), session)
	if err != nil {
		return nil, err
	}
	if err := closeFilesOnExec(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	cmd := exec.Command(self, SessionVerb)
	cmd.Stdin = bytes.NewReader(text)
	cmd.Stdout, cmd.Stderr = log.File, log.File
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the session's process: %w", err), log.Close())
	}
	d := &detachedHost{cmd: cmd, log: log, ended: make(chan struct{})}
	d.waiter.Go(func() { // without a Wait for the goroutine: the session's process may outlive this process
		_ = cmd.Wait()
		close(d.ended)
	})
	return d, nil
}

// closeFilesOnExec sets close-on-exec on all inherited files except the standard streams. Otherwise a reader of such a
// file, for example a pipe, would wait for the end of the session.
func closeFilesOnExec() error {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return fmt.Errorf("list the open files: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return fmt.Errorf("list the open files: %w", err)
	}
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}

func (d *detachedHost) pid() int { return d.cmd.Process.Pid }

func (d *detachedHost) poll(context.Context) (code int, over bool, err error) {
	select {
	case <-d.ended:
	default:
		return 0, false, nil
	}
	if status, ok := d.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), true, nil
	}
	return d.cmd.ProcessState.ExitCode(), true, nil
}

func (d *detachedHost) output(context.Context) (string, error) { return d.log.Text() }

func (d *detachedHost) keepRunning(context.Context) error { return d.log.Keep() }

func (d *detachedHost) close(context.Context) error { return d.log.Close() }

func (d *detachedHost) describe() document.Host {
	return document.Host{Background: authoring.BackgroundDetach, PID: d.pid(), Log: d.log.Path()}
}

func (d *detachedHost) hints(session string) []string {
	return []string{
		fmt.Sprintf("Session started in the background: %s (PID %d)", session, d.pid()),
		"  Log:     " + d.log.Path(),
		fmt.Sprintf("  Watch:   %s attach %s", cli.Program, session),
		fmt.Sprintf("  Status:  %s status %s", cli.Program, session),
		fmt.Sprintf("  Stop:    %s pause %s, or abort %s", cli.Program, session, session),
	}
}
