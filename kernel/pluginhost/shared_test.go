package pluginhost

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// newSharingHosts returns the Hosts a and b, and the Host first, which they share.
func newSharingHosts(t *testing.T, names ...string) (a, b, first *bench) {
	t.Helper()
	first = newBench(t, nil, names...)
	user := func(run string) *bench {
		return newSharingBench(t, first.Host, func(c *Config) {
			environment, workDir, run := first.cfg.Environ, first.cfg.WorkDir, c.RunMarker+run
			notify := c.Notify
			*c = first.cfg
			c.Environ, c.WorkDir, c.RunMarker, c.Notify = environment, workDir, run, notify
		})
	}
	return user("a"), user("b"), first
}

func (b *bench) end() {
	b.t.Helper()
	if err := b.Close(b.ctx()); err != nil {
		b.t.Errorf("Close: %v", err)
	}
}

// U109: sessions of one kernel share the process of a plugin that declares sdk.CapabilityShared, and no other process.
func TestHostsShareProcesses(t *testing.T) {
	for name, shared := range map[string]bool{"shared": true, "good": false, "shared-serial": false} {
		t.Run(name, func(t *testing.T) {
			a, b, _ := newSharingHosts(t, name)
			one, other := a.output(a.provider(name, Use{}), "pid"), b.output(b.provider(name, Use{}), "pid")
			compare(t, shared, (one == other))
			for _, notices := range [][]Notice{a.seen(Started), b.seen(Started)} {
				require(t, len(notices) == 1, len(notices), notices)
			}
			n := b.seen(Started)[0]
			require(t, n.Shared == shared && !a.seen(Started)[0].Shared, n)
			a.end()
			require(t, runs(one) == shared, one, runs(one))
			compare(t, other, b.output(b.provider(name, Use{}), "pid"))
			b.end()
			eventually(t, "the process ends with its last user", func() bool { return !runs(other) })
		})
	}
}

// A session with secrets of its own has processes of its own.
func TestHostWithItsOwnRedactorSharesNothing(t *testing.T) {
	a, b, _ := newSharingHosts(t, "shared")
	b.Redact(redact.New(nil))
	one, other := a.output(a.provider("shared", Use{}), "pid"), b.output(b.provider("shared", Use{}), "pid")
	require(t, one != other, one)
}

// A process that outlives a call is ended with the plugin's process and reported to the last user.
func TestLastHostReceivesSurvivors(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this system finds no survivors")
	}
	a, b, _ := newSharingHosts(t, "shared")
	a.output(a.provider("shared", Use{}), "children")
	b.output(b.provider("shared", Use{}), "pid")
	a.end()
	if left := a.seen(SurvivorEnded); len(left) > 0 {
		t.Errorf("ended before the last user: %+v", left)
	}
	b.end()
	left := b.seen(SurvivorEnded) // perhaps also a child in the group, which is ending
	require(t, len(left) != 0 && !slices.ContainsFunc(left, func(n Notice) bool { return !n.Survivor.Ended }), left)
}

// hang makes a call that ends with its context; the returned function waits for its error.
func (b *bench) hang(ctx context.Context, name string) (ended func() error) {
	b.t.Helper()
	begun := newAlarm()
	var err error
	var call sync.WaitGroup
	p := b.provider(name, Use{})
	call.Go(func() { _, err = attempt(ctx, p, "wait", begun) })
	begun.wait(b.t)
	return func() error { call.Wait(); return err }
}

// A cancelled call retires the process: the calls of others complete, later calls get a new process.
func TestCancelledCallRetiresProcess(t *testing.T) {
	a, b, _ := newSharingHosts(t, "shared")
	pid := a.output(a.provider("shared", Use{}), "pid")
	held, release := context.WithCancel(b.ctx())
	other := b.hang(held, "shared")
	ctx, giveUp := context.WithCancel(a.ctx())
	own := a.hang(ctx, "shared")
	giveUp()
	require(t, own() != nil, "the cancelled call has no error")
	again := a.output(a.provider("shared", Use{}), "pid")
	require(t, again != pid, "the next call is on the same process")
	require(t, runs(pid), "the process ended under the other call")
	release()
	require(t, other() != nil && !runs(pid), pid, runs(pid))
}

// The end of a Host ends its calls, and not those of others.
func TestCallsEndWithTheirHost(t *testing.T) {
	a, b, _ := newSharingHosts(t, "shared")
	pid := b.output(b.provider("shared", Use{}), "pid")
	call := a.hang(a.ctx(), "shared")
	held, release := context.WithCancel(b.ctx())
	other := b.hang(held, "shared")
	a.end()
	err := call()
	require(t, errors.Is(err, ErrClosed), err)
	_, err = attempt(a.ctx(), a.provider("shared", Use{}), "pid", quietExchange{})
	require(t, errors.Is(err, ErrClosed), err)
	require(t, runs(pid), "the process ended under the other's call")
	release()
	_ = other()
}

// The shared Host may be closed before the hosts that share it.
func TestSharedHostOutlivesItsClose(t *testing.T) {
	a, _, first := newSharingHosts(t, "shared", "good")
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	check(t, first.Close(ctx))
	for _, name := range []string{"shared", "good"} {
		pid := a.output(a.provider(name, Use{}), "pid")
		if again := a.output(a.provider(name, Use{}), "pid"); again != pid { // a process ends with the thread that forked it
			t.Errorf("process %s of %s became %s", pid, name, again)
		}
	}
}
