package mock

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Spawn starts a process that outlives its attempt, so that a test can check that the host finds and ends it.
type Spawn struct {
	// Kind is plain (default: in the plugin's process group) or setsid (in a process session of its own).
	Kind string `json:"kind,omitempty"`
	// Seconds is the duration of sleep, the default command. Default 600.
	Seconds int `json:"seconds,omitempty"`
	// PIDFile is a file, relative to the work directory, that gets the process id as one line.
	PIDFile string `json:"pid_file,omitempty"`
	// Command replaces sleep. It runs in the work directory; MOCK_RESULT_FILE is the path of result.json. With Wait the
	// attempt waits until the process ends.
	Command []string `json:"command,omitempty"`
	Wait    bool     `json:"wait,omitempty"`
}

const (
	spawnSetsid  = "setsid"
	spawnSeconds = 600
)

// start starts the process without a context, so that the end of the attempt does not end it. It waits only if Wait is
// set.
func (s *Spawn) start(workDir, result string) error {
	if s == nil {
		return nil
	}
	args := s.Command
	if len(args) == 0 {
		args = []string{"sleep", strconv.Itoa(cmp.Or(s.Seconds, spawnSeconds))}
	}
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Dir, cmd.Env = workDir, append(os.Environ(), envResultFile+"="+result)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: s.Kind == spawnSetsid}
	if err := cmd.Start(); err != nil {
		return failure.New(failure.ProviderFailed, "mock: spawn: %w", err)
	}
	if s.PIDFile != "" {
		pid := strconv.Itoa(cmd.Process.Pid) + "\n"
		if err := os.WriteFile(absolutePath(workDir, s.PIDFile), []byte(pid), 0o644); err != nil {
			return fmt.Errorf("mock: %w", err)
		}
	}
	if s.Wait {
		if err := cmd.Wait(); err != nil {
			return failure.New(failure.ProviderFailed, "mock: %s: %w", args[0], err)
		}
		return nil
	}
	if err := cmd.Process.Release(); err != nil {
		return fmt.Errorf("mock: spawn: %w", err)
	}
	return nil
}
