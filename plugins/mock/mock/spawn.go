package mock

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Spawn starts a process that outlives its attempt, as a careless agent does, so that a host can show
// that it finds and ends what is left behind.
type Spawn struct {
	// Kind is plain (default: a member of the plugin's process group) or setsid (a session of its own).
	Kind string `json:"kind,omitempty"`
	// Seconds is how long the process sleeps. Default 600.
	Seconds int `json:"seconds,omitempty"`
	// PIDFile gets the process's id as one line. Relative to the work directory.
	PIDFile string `json:"pid_file,omitempty"`
	// Command is run in the place of sleep, in the work directory; MOCK_RESULT_FILE is the path of result.json. Wait lets
	// the attempt wait for its end.
	Command []string `json:"command,omitempty"`
	Wait    bool     `json:"wait,omitempty"`
}

const (
	spawnPlain  = "plain"
	spawnSetsid = "setsid"

	spawnSeconds = 600
)

// start runs the command and forgets it on purpose: no context, no process group of its own, nobody waits unless that
// is said.
func (s *Spawn) start(workDir, result string) error {
	if s == nil {
		return nil
	}
	seconds := s.Seconds
	if seconds == 0 {
		seconds = spawnSeconds
	}
	args := s.Command
	if len(args) == 0 {
		args = []string{"sleep", strconv.Itoa(seconds)}
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
