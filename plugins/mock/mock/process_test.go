package mock

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestEndProcess(t *testing.T) {
	tests := []struct {
		how    string
		code   int
		signal syscall.Signal
		stderr string
	}{
		{"exit", 7, -1, ""},
		{"panic", 2, -1, "panic: mock: configured panic"},
		{"kill", -1, syscall.SIGKILL, ""},
	}
	for _, tt := range tests {
		t.Run(tt.how, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), envCrash+"="+tt.how)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			var exit *exec.ExitError
			if err := cmd.Run(); !errors.As(err, &exit) {
				t.Fatalf("ended with %v", err)
			}
			status, ok := exit.Sys().(syscall.WaitStatus)
			if !ok || exit.ExitCode() != tt.code || status.Signaled() && status.Signal() != tt.signal {
				t.Errorf("ended with %v", exit)
			}
			if !strings.HasPrefix(stderr.String(), tt.stderr) {
				t.Errorf("stderr %q", stderr.String())
			}
		})
	}
}

func TestSpawn(t *testing.T) {
	for _, kind := range []string{"plain", spawnSetsid} {
		t.Run(kind, func(t *testing.T) {
			tr := newFixture(t, `{"replies":[{"spawn":{"kind":"`+kind+`","pid_file":"pid"}}]}`)
			if _, err := tr.execute(t.Context()); err != nil {
				t.Fatal(err)
			}
			pid := must(strconv.Atoi(strings.TrimSuffix(tr.file(t, "pid"), "\n")))
			t.Cleanup(func() {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				_, _ = syscall.Wait4(pid, nil, 0, nil)
			})
			group, err := syscall.Getpgid(pid)
			if err != nil {
				t.Fatalf("the process does not live: %v", err)
			}
			if leads := group == pid; leads != (kind == spawnSetsid) {
				t.Errorf("process %d is in group %d", pid, group)
			}
		})
	}
}

// A command receives the path of the result, and the attempt may wait for it.
func TestSpawnOfACommand(t *testing.T) {
	tr := newFixture(t, `{"replies":[{"spawn":{"command":["sh","-c","echo $MOCK_RESULT_FILE >path"],"wait":true}}]}`)
	if _, err := tr.execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(tr.file(t, "path")); filepath.Base(got) != "result.json" {
		t.Errorf("MOCK_RESULT_FILE is %q", got)
	}
	tr = newFixture(t, `{"replies":[{"spawn":{"command":["false"],"wait":true}}]}`)
	if _, err := tr.execute(t.Context()); failure.KindOf(err) != failure.ProviderFailed {
		t.Errorf("a command that fails: %v", err)
	}
	tr = newFixture(t, `{"replies":[{"spawn":{"command":["no-such-program"]}}]}`)
	if _, err := tr.execute(t.Context()); failure.KindOf(err) != failure.ProviderFailed {
		t.Errorf("a command that does not start: %v", err)
	}
}
