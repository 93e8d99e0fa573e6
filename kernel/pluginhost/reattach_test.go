package pluginhost

import (
	"bufio"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/client"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// startDebugged starts a plugin as its author does in a debugger, and returns the value of the reattach variable.
func startDebugged(t *testing.T, name string) (value string, cmd *exec.Cmd) {
	t.Helper()
	cmd = exec.CommandContext(context.Background(), filepath.Join(newPluginDir(t, name), "agent-plugin-"+name), "debug")
	out := must(cmd.StdoutPipe())
	check(t, cmd.Start())
	wait := sync.OnceValue(cmd.Wait)
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGCONT)
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := wait(); err != nil && cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Errorf("the debugged plugin: %v", err)
		}
	})
	line := must(bufio.NewReader(out).ReadString('\n'))
	value, found := strings.CutPrefix(strings.TrimSpace(line), client.ReattachVariable+"=")
	require(t, found, line)
	return strings.Trim(value, "'"), cmd
}

// A plugin stopped in a debugger may be silent for any time; its process survives the host and serves the next
// host.
func TestReattachedPlugin(t *testing.T) {
	value, cmd := startDebugged(t, "good")
	b := newBench(t, func(c *Config) {
		c.Reattach = value
		c.Client = []client.Option{client.IdleLimit(50 * time.Millisecond), client.CallLimit(50 * time.Millisecond)}
	}, "good")
	p := b.provider("good", Use{})
	b.output(p, "pid")
	n := b.seen(Started)
	require(t, len(n) == 1 && n[0].Reattached && n[0].PID == cmd.Process.Pid, n)
	check(t, cmd.Process.Signal(syscall.SIGSTOP))
	going := time.AfterFunc(300*time.Millisecond, func() { _ = cmd.Process.Signal(syscall.SIGCONT) })
	defer going.Stop()
	b.output(p, "pid")
	check(t, b.Close(b.ctx()))
	next := newBench(t, func(c *Config) { c.Reattach = value }, "good")
	next.provider("good", Use{}) // the same process answers the next host
}

// A process that ends during a call, and a process that is gone, are reported as such; no other plugin with the name
// is used.
func TestReattachedPluginThatEnds(t *testing.T) {
	value, cmd := startDebugged(t, "good")
	b := newBench(t, func(c *Config) { c.Reattach = value }, "good")
	p := b.provider("good", Use{})
	b.output(p, "hello")
	_, err := b.execute(b.ctx(), p, "kill")
	require(t, failure.KindOf(err) == failure.ProviderCrashed && strings.Contains(err.Error(), "which was already running, has ended"), err)
	_ = cmd.Wait()
	if _, err = b.execute(b.ctx(), p, "hello"); failure.KindOf(err) == failure.ProviderCrashed { // the host had not noticed the end yet
		_, err = b.execute(b.ctx(), p, "hello")
	}
	require(t, failure.KindOf(err) == failure.ProviderMissing && strings.Contains(err.Error(), "does not answer at"), err)
	later := newBench(t, func(c *Config) { c.Reattach = value }, "good")
	_, err = later.Provider(later.ctx(), "good", Use{})
	require(t, failure.KindOf(err) == failure.ProviderMissing && strings.Contains(err.Error(), "does not answer at"), err)
	got := later.seen(Started)
	require(t, len(got) == 0, got)
}

func TestReattachIsCancelled(t *testing.T) {
	value, cmd := startDebugged(t, "good")
	b := newBench(t, func(c *Config) { c.Reattach = value }, "good")
	p := b.provider("good", Use{})
	check(t, cmd.Process.Signal(syscall.SIGSTOP))
	for stopped := syscall.WaitStatus(0); !stopped.Stopped(); { // the signal may take its time
		if _, err := syscall.Wait4(cmd.Process.Pid, &stopped, syscall.WUNTRACED, nil); err != nil && !errors.Is(err, syscall.EINTR) {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(b.ctx())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := b.execute(ctx, p, "hello")
	require(t, errors.Is(err, context.Canceled), err)
}
