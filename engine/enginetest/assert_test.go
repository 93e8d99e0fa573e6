package enginetest_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/dodo-digital/agent-pipelines/engine"
	"github.com/dodo-digital/agent-pipelines/engine/enginetest"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recordingTB records failures; all other methods are those of the embedded test.
type recordingTB struct {
	testing.TB
	failures []string
}

func (w *recordingTB) Helper() {}

func (w *recordingTB) Errorf(format string, args ...any) {
	w.failures = append(w.failures, fmt.Sprintf(format, args...))
}

func (w *recordingTB) Fatalf(format string, args ...any) {
	w.Errorf(format, args...)
	runtime.Goexit()
}

// record runs f with a recordingTB in its own goroutine, which Fatalf ends, and returns the failures.
func record(t *testing.T, f func(t testing.TB)) string {
	t.Helper()
	w := &recordingTB{TB: t}
	var wg sync.WaitGroup
	wg.Go(func() { f(w) })
	wg.Wait()
	return strings.Join(w.failures, "\n---\n")
}

// Each assertion fails where it should and shows the actual values.
func TestFailures(t *testing.T) {
	s := enginetest.NewMockSession(t, enginetest.Fixtures{
		Run:     engine.RunOptions{Text: "{name: p, nodes: [{id: a, prompt: go, runs: 2}, {id: b, prompt: go}]}"},
		Replies: []enginetest.Reply{{Node: "b", Failure: failure.New(failure.AgentError, "it broke")}},
	})
	s.Run()
	checkAssertions(t, []assertion{
		{"count holds", func(t testing.TB) { enginetest.AssertIterationCount(t, s, 2) }, nil},
		{"count", func(t testing.TB) { enginetest.AssertIterationCount(t, s, 3) }, []string{"completed 2 iterations, want 3", "1 a (node 0) iteration 1", "2 a (node 0) iteration 2"}},
		{"status holds", func(t testing.TB) { enginetest.AssertStateStatus(t, s, state.Failed) }, nil},
		{"status", func(t testing.TB) { enginetest.AssertStateStatus(t, s, state.Completed) }, []string{"is failed, want completed", "it broke", "stage a: complete, 2 iterations", "stage b: failed"}},
		{"sequence, too short", func(t testing.TB) {
			enginetest.AssertEventSequence(t, s, event.SessionStart, event.KernelStart)
		}, []string{"has other events from number 3 on", "3 node_start", "1 session_start"}},
		{"sequence, another", func(t testing.TB) {
			enginetest.AssertEventSequence(t, s, event.SessionStart, event.NodeStart)
		}, []string{"has other events from number 2 on"}},
		{"sequence, too long", func(t testing.TB) {
			var all []event.Type
			for _, e := range s.Events() {
				if !e.Type.Informative() {
					all = append(all, e.Type)
				}
			}
			enginetest.AssertEventSequence(t, s, append(all, event.SessionComplete)...)
		}, []string{"has other events from number"}},
		{"subsequence holds", func(t testing.TB) {
			enginetest.AssertEventSubsequence(t, s, event.SessionStart, event.IterationComplete, event.IterationComplete, event.Error)
		}, nil},
		{"subsequence, too many of one", func(t testing.TB) {
			enginetest.AssertEventSubsequence(t, s, event.IterationComplete, event.IterationComplete, event.IterationComplete)
		}, []string{"has no iteration_complete after the first 2", "session_start"}},
		{"subsequence, another order", func(t testing.TB) {
			enginetest.AssertEventSubsequence(t, s, event.Error, event.SessionStart)
		}, []string{"has no session_start after the first 1"}},
	})
}

// assertion is a call of an assertion.
type assertion struct {
	name string
	call func(t testing.TB)
	want []string // parts of the failure; nil: the assertion holds
}

func checkAssertions(t *testing.T, tests []assertion) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			failed := record(t, tt.call)
			if (failed == "") != (len(tt.want) == 0) {
				t.Errorf("failed: %q", failed)
			}
			for _, want := range tt.want {
				if !strings.Contains(failed, want) {
					t.Errorf("%q is not in\n%s", want, failed)
				}
			}
		})
	}
}

// Errors that prevent a test from continuing end the test.
func TestFatal(t *testing.T) {
	text := engine.RunOptions{Text: "{name: p, nodes: [{id: a, prompt: go}]}"}
	unbegun := func(t testing.TB) *enginetest.Session {
		return enginetest.NewMockSession(t, enginetest.Fixtures{Run: text})
	}
	tests := []struct {
		name string
		call func(t testing.TB)
		want string
	}{
		{"a path outside", func(t testing.TB) {
			enginetest.NewMockSession(t, enginetest.Fixtures{Files: map[string]string{"../x": ""}})
		}, "not a path inside"},
		{"an unknown provider", func(t testing.TB) {
			enginetest.NewMockSession(t, enginetest.Fixtures{Replies: []enginetest.Reply{{}, {Provider: "claud"}}})
		}, `reply 1 is for provider "claud"`},
		{"a decision that is none", func(t testing.TB) {
			enginetest.NewMockSession(t, enginetest.Fixtures{Replies: []enginetest.Reply{{Decision: "halt"}}})
		}, "continue, stop or error"},
		{"a result and a decision", func(t testing.TB) {
			enginetest.NewMockSession(t, enginetest.Fixtures{Replies: []enginetest.Reply{{Decision: "stop", NoResult: true}}})
		}, "beside Result"},
		{"one provider twice", func(t testing.TB) {
			enginetest.NewMockSession(t, enginetest.Fixtures{Providers: []string{"a", "a"}})
		}, "make the engine"},
		{"a pipeline that is not there", func(t testing.TB) {
			enginetest.NewMockSession(t, enginetest.Fixtures{Run: engine.RunOptions{Pipeline: "ship"}}).Run()
		}, "ship"},
		{"nothing to resume", func(t testing.TB) { unbegun(t).Resume("") }, "no such session"},
		{"no status", func(t testing.TB) { unbegun(t).Status() }, "no such session"},
		{"no events", func(t testing.TB) { unbegun(t).Events() }, "no such session"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			on := false
			failed := record(t, func(t testing.TB) { tt.call(t); on = true })
			if on || !strings.Contains(failed, tt.want) {
				t.Errorf("continued: %v, failed: %q", on, failed)
			}
		})
	}
}
