package schedule_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

const runKey = event.Key("timer:/v0/r0/-/-/i0#1")

func newGuardrails(seconds float64) *plan.Guardrails {
	return &plan.Guardrails{MaxRuntimeSeconds: seconds, Source: fmt.Sprintf("p.yaml:%v:1", seconds)}
}

// nestedPlan returns a plan with a guardrail of every kind, in seconds. The run has 100, a stage node 10, a block 20
// and the first of its two stages 21. A pipeline node has 30, its embedded plan 31 and a stage of that plan 32.
func nestedPlan() *plan.Plan {
	stage := func(path, id string, g *plan.Guardrails) plan.Node {
		return plan.Node{Path: path, ID: id, Kind: plan.KindStage, Guardrails: g, Termination: plan.Termination{"max": 1}}
	}
	inner := &plan.Plan{Pipeline: plan.Pipeline{Name: "inner", Guardrails: newGuardrails(31)}, Nodes: []plan.Node{stage("0", "deep", newGuardrails(32))}}
	return &plan.Plan{
		Pipeline: plan.Pipeline{Name: "outer", Guardrails: newGuardrails(100)},
		Nodes: []plan.Node{
			stage("0", "first", newGuardrails(10)),
			{
				Path: "1", ID: "both", Kind: plan.KindParallel, Guardrails: newGuardrails(20),
				Providers: []plan.BlockProvider{{Name: "a"}, {Name: "b"}},
				Stages:    []plan.Node{stage("1.0", "write", newGuardrails(21)), stage("1.1", "check", nil)},
			},
			{Path: "2", ID: "again", Kind: plan.KindPipeline, Runs: 2, Guardrails: newGuardrails(30), Plan: inner},
		},
	}
}

// finish completes due commands until the run has ended, or until stop returns true for the next command.
func (h *history) finish(stop func(schedule.Command) bool) {
	h.t.Helper()
	for range 200 {
		cmds := schedule.Decide(h.plan, h.state)
		if len(cmds) == 0 || stop(cmds[0]) {
			return
		}
		c := cmds[0]
		if c.Event != nil {
			h.add(*c.Event)
		}
		switch c.Kind {
		case schedule.Attempt:
			h.complete(c, "")
		case schedule.Strategy:
			h.add(event.New(event.Decision, c.Location.Cursor(), c.Key, event.DecisionData{Strategy: "drawn", Action: "stop", Reason: "stop"}))
		case schedule.WriteManifest:
			h.add(event.New(event.ArtifactWritten, &event.Cursor{NodePath: c.Location.Node}, c.Key, event.ArtifactWrittenData{Name: event.Manifest}))
		}
	}
	h.t.Fatalf("no end: %s", asJSON(h.state))
}

// U090: a guardrail's timer is set once, when the guarded work begins, and is removed when the work is over.
func TestGuardrailTimers(t *testing.T) {
	h := newHistory(t, nestedPlan())
	var set []string
	h.finish(func(c schedule.Command) bool {
		if c.Event != nil && c.Event.Type == event.TimerSet {
			d, err := event.Decode[event.TimerSetData](*c.Event)
			if err != nil || d.Purpose != state.PurposeGuardrail {
				t.Fatalf("%v %s", err, asJSON(c))
			}
			set = append(set, fmt.Sprintf("%s %s, with %d armed", c.Key, d.After, len(h.state.Timers)))
		}
		return false
	})
	want := []string{
		"timer:/v0/r0/-/-/i0#1 1m40s, with 0 armed",
		"timer:0/v1/r1/-/-/i0#1 10s, with 1 armed",
		"timer:1/v1/r1/-/-/i0#1 20s, with 1 armed",
		"timer:1.0/v1/r1/a/-/i0#1 21s, with 2 armed",
		"timer:1.0/v1/r1/b/-/i0#1 21s, with 2 armed",
		"timer:2/v1/r0/-/-/i0#1 30s, with 1 armed",
		"timer:2/v1/r1/-/-/i0#2 31s, with 2 armed",
		"timer:2.0/v1/r1/-/-/i0#1 32s, with 3 armed",
		"timer:2/v1/r2/-/-/i0#2 31s, with 2 armed",
		"timer:2.0/v1/r2/-/-/i0#1 32s, with 3 armed",
	}
	compare(t, want, set)
	require(t, h.state.Status == state.Completed && len(h.state.Timers) == 0 && h.state.AliveAt.IsZero(), h.state)
}

// A plan without guardrails leaves no trace of them.
func TestNoGuardrails(t *testing.T) {
	h := newHistory(t, stages(plan.Node{}))
	h.finish(func(schedule.Command) bool {
		if len(h.state.Timers) > 0 || !h.state.AliveAt.IsZero() {
			t.Fatalf("state %s", asJSON(h.state))
		}
		return false
	})
}

// fireGuardrail fires the timer some time after it was due.
func (h *history) fireGuardrail(key event.Key, late time.Duration) {
	h.t.Helper()
	h.spent += h.state.Timers[key].Due.Add(late).Sub(h.now())
	h.add(event.Event{Type: event.TimerFired, Key: key})
}

// now returns the time of the next event.
func (h *history) now() time.Time {
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(h.state.Seq+1)*time.Second + h.spent)
}

// cancelCommands commits due commands, and ends the effects that are cancelled.
func (h *history) cancelCommands() (cancelled []schedule.Command) {
	h.t.Helper()
	for range 50 {
		cmds := schedule.Decide(h.plan, h.state)
		if len(cmds) == 0 {
			return cancelled
		}
		c := cmds[0]
		switch {
		case c.Kind == schedule.Cancel && c.Key.Kind() == event.KeyDecide: // no decision is in flight
			h.add(*cmds[1].Event)
		case c.Kind == schedule.Cancel && c.Key.Kind() == event.KeyQuestion:
			cancelled = append(cancelled, c)
			h.add(event.New(event.StrategyAnswer, c.Location.Cursor(), c.Key, event.StrategyAnswerData{Error: "iteration_timeout"}))
		case c.Kind == schedule.Cancel:
			cancelled = append(cancelled, c)
			_, _, attempt, _ := c.Key.Parse()
			e := event.New(event.Error, c.Location.Cursor(), c.Key, c.Cause)
			e.Attempt = attempt
			h.add(e)
		case c.Kind == schedule.Record:
			h.add(*c.Event)
		default:
			return cancelled
		}
	}
	h.t.Fatalf("no end: %s", asJSON(h.state))
	return nil
}

// U090, U099: when the time of the run is used up, everything in flight is cancelled. The run fails with the limit,
// its source, the running time, and the resume command.
func TestRunLimitFailsTheRun(t *testing.T) {
	p := stages(plan.Node{ID: "a"})
	p.Pipeline = plan.Pipeline{Name: "gp", Guardrails: newGuardrails(60)}
	h := newHistory(t, p)
	h.commit()
	h.fireGuardrail(runKey, 1500*time.Millisecond)
	cancelled := h.cancelCommands()
	resume := failure.Next("resume", "golden", "--force").String()
	want := &event.FailureData{
		Code: "ACODE-ORCH-002", ErrorType: "iteration_timeout", Node: "a", Stage: "a", Iteration: 1,
		Message: `pipeline "gp" exceeded its max_runtime_seconds: it ran 1m1.5s of 1m0s (guardrails, p.yaml:60:1)`,
		Remedy: resume + ", which renews its time; " +
			"or change the limit and start a new session: a session keeps its plan",
		ResumeCommand: resume,
	}
	require(t, len(cancelled) == 1 && cancelled[0].Key == "attempt:0/v1/r1/-/-/i1#1", cancelled)
	compare(t, want, cancelled[0].Cause)
	want.Attempt = 1
	diff := cmp.Diff(want, h.state.Failure)
	require(t, h.state.Status == state.Failed && diff == "", h.state, diff)
	compare(t, string(plan.OutcomeTimeout), h.state.Nodes["0"].Outcome)
	require(t, schedule.RunGuardrailFailure(p, h.state) != nil, "the run can continue")

	h.resume() // the resume did not renew the time
	h.commit()
	require(t, h.state.Status == state.Failed && h.state.Failure.ErrorType == "iteration_timeout", h.state)
	h.startKernel()
	h.add(event.New(event.SessionResumed, nil, "", event.SessionResumedData{Renew: true}))
	c := h.commit()
	require(t, c.Kind == schedule.Attempt && c.Attempt == 1, c)
	left, bounded := h.state.Remaining(event.Location{Node: "0"}, h.state.AliveAt)
	require(t, bounded && left >= 58*time.Second, left)
}

// In every phase of its loop, the node fails when its time is used up. A resume renews the time and continues at the
// same point.
func TestNodeLimitInEveryPhase(t *testing.T) {
	const key = event.Key("timer:0/v1/r1/-/-/i0#1")
	tests := []struct {
		name      string
		until     func(h *history)
		cancelled event.Key
		next      string // due after the resume
	}{
		{"an attempt", func(h *history) { h.commit() }, "attempt:0/v1/r1/-/-/i1#1", "attempt:0/v1/r1/-/-/i1#1"},
		{"a later attempt", func(h *history) {
			h.fail(h.commit(), event.FailureData{ErrorType: "provider_crashed", Retryable: true})
			h.wait()
			h.commit()
		}, "attempt:0/v1/r1/-/-/i1#2", "attempt:0/v1/r1/-/-/i1#1"},
		{"the pause before one", func(h *history) {
			h.fail(h.commit(), event.FailureData{ErrorType: "provider_crashed", Retryable: true})
			h.commit()
		}, "", "attempt:0/v1/r1/-/-/i1#1"},
		{"a decision", func(h *history) { h.iterate("") }, "", "decide:0/v1/r1/-/-/i1#1"},
		{"a question", func(h *history) {
			h.iterate("")
			h.ask()
			h.commit()
		}, "question:0/v1/r1/-/-/i1#1", "decide:0/v1/r1/-/-/i1#1"},
		{"between two questions", func(h *history) {
			h.iterate("")
			h.ask()
			q := h.commit()
			h.add(event.New(event.StrategyAnswer, q.Location.Cursor(), q.Key, event.StrategyAnswerData{}))
			h.ask()
		}, "", "decide:0/v1/r1/-/-/i1#1"},
		{"the pause between iterations", func(h *history) {
			h.iterate("")
			h.decide("continue")
			h.commit()
		}, "", "attempt:0/v1/r1/-/-/i2#1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHistory(t, stages(plan.Node{ID: "a", Guardrails: newGuardrails(90), Termination: plan.Termination{"max": 3}}))
			tt.until(h)
			h.fireGuardrail(key, 0)
			var got event.Key
			for _, c := range h.cancelCommands() {
				got = c.Key
			}
			compare(t, tt.cancelled, got)
			if f := h.state.Failure; h.state.Status != state.Failed || f == nil || f.ErrorType != "iteration_timeout" ||
				f.ResumeCommand != failure.Next("resume", "golden").String() || schedule.RunGuardrailFailure(h.plan, h.state) != nil {
				t.Fatalf("state %s", asJSON(h.state))
			}
			h.resume()
			c := h.commit()
			require(t, string(c.Key) == tt.next, c)
			l := h.loop()
			require(t, l.Round == 0 && l.Question == nil && l.Answer == nil, l)
			left, bounded := h.state.Remaining(event.Location{Node: "0"}, h.state.AliveAt)
			require(t, bounded && left >= 85*time.Second, left)
		})
	}
}

// wait fires the timers of the loop.
func (h *history) wait() {
	h.t.Helper()
	h.commit()
	for key, timer := range h.state.Timers {
		if timer.Purpose != state.PurposeGuardrail {
			h.add(event.Event{Type: event.TimerFired, Key: key})
		}
	}
}

// An agent that ends well although the time is used up completes its iteration; no further iteration begins.
func TestIterationThatEndsLateCounts(t *testing.T) {
	h := newHistory(t, stages(plan.Node{ID: "a", Guardrails: newGuardrails(90), Termination: plan.Termination{"max": 3}}))
	c := h.commit()
	h.fireGuardrail("timer:0/v1/r1/-/-/i0#1", 0)
	h.complete(c, "")
	h.cancelCommands()
	require(t, h.state.Status == state.Failed && h.loop().Completed == 1, h.state)
}

// Idle time does not count: neither a pause, nor the time between a crash and the next kernel.
func TestIdleTimeDoesNotCount(t *testing.T) {
	p := stages(plan.Node{ID: "a", Guardrails: newGuardrails(50)})
	p.Pipeline.Guardrails = newGuardrails(100)
	tests := []struct {
		name string
		rest func(h *history, c schedule.Command)
	}{
		{"a pause", func(h *history, c schedule.Command) {
			h.pause()
			h.fail(c, event.FailureData{ErrorType: "signal_interrupt", Message: "stopped"})
			h.commit()
			h.spent += 1000 * time.Second
			h.resume()
		}},
		{"a crash", func(h *history, _ schedule.Command) {
			h.spent += 1000 * time.Second
			h.resume()
		}},
		{"a crash, and a pause before anything is done", func(h *history, _ schedule.Command) {
			h.spent += 1000 * time.Second
			h.startKernel()
			h.pause()
			h.commit()
			h.spent += 1000 * time.Second
			h.resume()
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHistory(t, p)
			c := h.commit()
			h.spent += 20 * time.Second
			h.add(event.New(event.Checkpoint, c.Location.Cursor(), c.Key, event.CheckpointData{Turn: 1}))
			tt.rest(h, c)
			c = h.commit()
			require(t, c.Kind == schedule.Attempt, c)
			loc := event.Location{Node: "0"}
			left, _ := h.state.Remaining(loc, h.state.AliveAt)
			require(t, left >= 15*time.Second && left <= 30*time.Second, left)
			delete(h.state.Timers, "timer:0/v1/r1/-/-/i0#1")
			left, _ = h.state.Remaining(loc, h.state.AliveAt)
			require(t, left >= 65*time.Second && left <= 80*time.Second, left)
		})
	}
}

// The guardrail of a block's stage ends the work of one provider; the others continue, and the block fails.
func TestLimitOfOneProvider(t *testing.T) {
	h := newHistory(t, nestedPlan())
	h.finish(func(c schedule.Command) bool { return c.Location.Branch != "" })
	attempts := map[string]schedule.Command{}
	for len(attempts) < 2 {
		c := schedule.Decide(h.plan, h.state)[0]
		h.add(*c.Event)
		if c.Kind == schedule.Attempt {
			attempts[c.Location.Branch] = c
		}
	}
	h.fireGuardrail("timer:1.0/v1/r1/a/-/i0#1", 0)
	cancelled := h.cancelCommands()
	require(t, len(cancelled) == 1 && cancelled[0].Location.Branch == "a" && h.state.Status == state.Running, cancelled, h.state)
	h.complete(attempts["b"], "")
	h.finish(func(schedule.Command) bool { return false })
	want := `Parallel block 'both' failed. Failed providers: a: stage "write" of provider a exceeded its max_runtime_seconds: it ran 21s of 21s (guardrails, p.yaml:21:1)`
	f := h.state.Failure
	require(t, f != nil && f.Message == want && f.ErrorType == "iteration_timeout" && h.state.Nodes["1"].Branches["b"].Status == state.NodeComplete, h.state)
}

// Everything within a guardrail is cancelled, and the message names the widest guardrail that is reached.
func TestLimitsOfEnclosingNodes(t *testing.T) {
	tests := []struct {
		key       event.Key
		node      string // where the guardrail is reached and the run stops
		cancelled int
		message   string
	}{
		{"timer:1/v1/r1/-/-/i0#1", "1", 2, `Parallel block 'both' failed. Failed providers: a, b: node "both" exceeded its max_runtime_seconds: it ran 20s of 20s (guardrails, p.yaml:20:1)`},
		{"timer:2/v1/r0/-/-/i0#1", "2.0", 1, `node "again" exceeded its max_runtime_seconds: it ran 30s of 30s (guardrails, p.yaml:30:1)`},
		{"timer:2/v1/r1/-/-/i0#2", "2.0", 1, `pipeline "inner" in node "again" exceeded its max_runtime_seconds: it ran 31s of 31s (guardrails, p.yaml:31:1)`},
		{"timer:2.0/v1/r1/-/-/i0#1", "2.0", 1, `node "deep" exceeded its max_runtime_seconds: it ran 32s of 32s (guardrails, p.yaml:32:1)`},
	}
	for _, tt := range tests {
		t.Run(string(tt.key), func(t *testing.T) {
			h := newHistory(t, nestedPlan())
			h.finish(func(c schedule.Command) bool { return h.state.At == tt.node && c.Kind == schedule.Attempt })
			for busy := 0; busy < tt.cancelled; {
				c := schedule.Decide(h.plan, h.state)[0]
				h.add(*c.Event)
				if c.Kind == schedule.Attempt {
					busy++
				}
			}
			h.fireGuardrail(tt.key, 0)
			compare(t, tt.cancelled, len(h.cancelCommands()))
			require(t, h.state.Status == state.Failed && h.state.At == tt.node && h.state.Failure.Message == tt.message, h.state)
			h.resume()
			c := h.commit()
			require(t, c.Kind == schedule.Attempt, c)
			timer := h.state.Timers[tt.key]
			require(t, timer.Reached == nil && !timer.Due.Before(h.state.AliveAt), timer, slices.Sorted(maps.Keys(h.state.Timers)))
		})
	}
}

// A run whose time is used up between two nodes does not begin the next node.
func TestGuardrailBetweenNodes(t *testing.T) {
	p := stages(plan.Node{ID: "a"}, plan.Node{ID: "b"})
	p.Pipeline.Guardrails = newGuardrails(60)
	h := newHistory(t, p)
	h.iterate("")
	h.decide("stop")
	h.fireGuardrail(runKey, 0)
	c := h.commit()
	require(t, c.Kind != schedule.Attempt, c)
	require(t, h.state.Status == state.Failed && h.state.At == "1" && h.state.Nodes["0"].Status == state.NodeComplete, h.state)
}

// A timer cannot fire twice, nor without being set.
func TestInvalidTimer(t *testing.T) {
	h := newHistory(t, nestedPlan())
	h.commit()
	h.fireGuardrail(runKey, 0)
	for _, key := range []event.Key{runKey, "timer:7/v1/r1/-/-/i0#1"} {
		if _, err := progress.Apply(h.plan, h.state, event.Event{Type: event.TimerFired, Key: key, Epoch: h.state.Epoch}); !isInvalidTransition(err) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// The time of the run spans all runs of the whole pipeline.
func TestRunLimitBoundsAllRepeats(t *testing.T) {
	h := newRepeatedHistory(t, nestedPlan(), 2)
	set := map[event.Key]int{}
	h.finish(func(c schedule.Command) bool {
		if c.Event != nil && c.Event.Type == event.TimerSet {
			set[c.Key]++
		}
		return false
	})
	if h.state.Status != state.Completed || set[runKey] != 1 || len(set) != 19 { // 10 of the first run, 9 of the second
		t.Errorf("%s, timers: %v", h.state.Status, set)
	}
	h = newRepeatedHistory(t, nestedPlan(), 2)
	h.finish(func(schedule.Command) bool { return h.state.Run == 2 })
	h.fireGuardrail(runKey, 0)
	h.cancelCommands()
	require(t, h.state.Status == state.Failed && h.state.Run == 2, h.state)
}

// A crash after a node's time is used up does not renew the time.
func TestCrashDoesNotRenewTime(t *testing.T) {
	h := newHistory(t, stages(plan.Node{ID: "a", Guardrails: newGuardrails(60)}))
	h.commit()
	h.fireGuardrail("timer:0/v1/r1/-/-/i0#1", 0)
	h.resume()
	c := h.commit()
	require(t, c.Kind != schedule.Attempt && h.state.Status == state.Failed && h.state.Failure.ErrorType == "iteration_timeout", h.state)
}
