package engine_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/internal/testkit"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost/process"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// maxWaitingGoroutines bounds the goroutines of a waiting session, on average.
const maxWaitingGoroutines = 4

// U072: waiting sessions cost a bounded number of goroutines and no process; paused sessions cost no goroutine.
func TestWaitingSessionCost(t *testing.T) {
	root := project(t, `{name: two, nodes: [{id: a, prompt: go, provider: agent}, {id: b, prompt: go, provider: agent}]}`)
	e := newEngine(t, root, agent{})
	before := runtime.NumGoroutine()
	for i := range 5 {
		if r, err := e.Run(t.Context(), engine.RunOptions{Pipeline: "two", Session: fmt.Sprint("p", i), Supervised: true}); err != nil || r.Status != state.Paused {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if n := settledGoroutines(before); n > before {
		t.Errorf("%d goroutines with 5 paused sessions, %d without", n, before)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const first, more = 5, 45
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	few := startWaiting(ctx, t, e, &running, "w", first)
	many := startWaiting(ctx, t, e, &running, "x", more)
	if each := float64(many-few) / more; each > maxWaitingGoroutines {
		t.Errorf("%d goroutines with %d waiting sessions, %d with %d: %.1f each, want at most %d", few, first, many, first+more, each, maxWaitingGoroutines)
	} else {
		t.Logf("%.1f goroutines a waiting session", each)
	}
	if n := children(t); n > 0 {
		t.Errorf("%d processes of sessions that only wait", n)
	}
}

// startWaiting starts sessions and returns the number of goroutines once all of them wait.
func startWaiting(ctx context.Context, t *testing.T, e *engine.Engine, running *sync.WaitGroup, prefix string, n int) int {
	t.Helper()
	asked := make(chan struct{}, n)
	for i := range n {
		running.Go(func() {
			_, _ = e.Run(ctx, engine.RunOptions{
				Pipeline: "two", Session: fmt.Sprint(prefix, i), Supervised: true, Wait: true,
				Observe: func(u engine.Update) {
					if u.Event != nil && u.Event.Type == event.QuestionAsked {
						asked <- struct{}{}
					}
				},
			})
		})
	}
	for range n {
		select {
		case <-asked:
		case <-time.After(time.Minute):
			t.Fatal("a session does not ask")
		}
	}
	return settledGoroutines(0)
}

// settledGoroutines counts the goroutines once their number is at most want or stable.
func settledGoroutines(want int) int {
	last := runtime.NumGoroutine()
	for same := 0; same < 20 && last > want; same++ {
		time.Sleep(10 * time.Millisecond)
		if n := runtime.NumGoroutine(); n != last {
			last, same = n, 0
		}
	}
	return last
}

// children counts the child processes.
func children(t *testing.T) int {
	t.Helper()
	lists := testkit.Must(filepath.Glob("/proc/self/task/*/children"))
	n := 0
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		n += len(strings.Fields(string(text)))
	}
	return n
}

// The nodes of a session share the process of their plugin; each running session has its own process, because the
// process's marker names the session.
func TestNodesShareOneProcess(t *testing.T) {
	root := project(t, `{name: two, nodes: [{id: a, prompt: go, provider: agent, runs: 3, termination: {type: curious, max: 3}}, {id: b, prompt: go, provider: agent, runs: 3, termination: {type: curious, max: 3}}]}`)
	e := newEngine(t, root, agent{}, withProbe())
	runTwo(t, e)
	testkit.Equal(t, 1, count(t, e, event.PluginStarted))
}

// awaitEnvironment waits until a started process has its environment in /proc: the start is reported a moment
// earlier.
func awaitEnvironment(t *testing.T, pid int) {
	t.Helper()
	for t.Context().Err() == nil {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err != nil || len(text) > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// Processes left by a dead kernel, also shared ones, are ended before the work continues, and
// journaled.
func TestSurvivorsAreEnded(t *testing.T) {
	t.Run("of the session", func(t *testing.T) { testSurvivor(t, func(session string) string { return session + "/" }) })
	t.Run("shared", func(t *testing.T) {
		testSurvivor(t, func(session string) string { return filepath.Dir(session) + "/*" })
	})
}

func testSurvivor(t *testing.T, run func(session string) string) {
	e, dir := pausedSession(t)
	kernelOfOld := exec.Command("true")
	testkit.OK(t, kernelOfOld.Run())
	left := exec.Command("sleep", "600")
	left.Env = []string{process.MarkerVariable + "=" + process.Marker{Run: run(dir), PID: kernelOfOld.Process.Pid, Start: 1}.String()}
	testkit.OK(t, left.Start())
	awaitEnvironment(t, left.Process.Pid)
	var ended error
	var wg sync.WaitGroup
	wg.Go(func() { ended = left.Wait() })
	testkit.OK(t, completed(e.Resume(t.Context(), engine.ResumeOptions{Session: "demo"})))
	if wg.Wait(); ended == nil {
		t.Error("the survivor ended without a signal")
	}
	testkit.Equal(t, 1, count(t, e, event.SurvivorEnded))
}
