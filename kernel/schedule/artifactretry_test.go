package schedule_test

import (
	"fmt"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// runWithBadArtifacts performs a run in which the first bad artifacts of every iteration are invalid. It returns the
// attempts by iteration and rung.
func runWithBadArtifacts(t *testing.T, n plan.Node, bad int) (made []string, s state.State) {
	t.Helper()
	w := newScriptedRun(t, &plan.Plan{Nodes: []plan.Node{n}})
	for range 1000 {
		cmds := schedule.Decide(w.plan, w.state)
		if len(cmds) == 0 && !w.fire() {
			return made, w.state
		}
		if len(cmds) == 0 {
			continue
		}
		c := cmds[0]
		if c.Kind == schedule.Attempt {
			say := fmt.Sprintf("i%d first", c.Location.Iteration)
			if d, _ := event.Decode[event.RetryData](*c.Event); c.Event.Type == event.Retry {
				say = fmt.Sprintf("i%d %s %d/%d", c.Location.Iteration, d.Rung, d.N, d.Max)
			}
			made = append(made, say)
		}
		if c.Kind == schedule.Settle && c.Attempt <= bad {
			w.add(event.New(event.Error, c.Location.Cursor(), c.Key, event.FailureData{
				ErrorType: "result_invalid", Message: "no goal", Retryable: true, Faults: []event.Fault{{Path: "$.goal", Code: "VAL-001"}},
			}))
			continue
		}
		w.perform(c)
	}
	t.Fatalf("no end: %v", made)
	return nil, s
}

// D5: an invalid artifact is requested again as often as heal allows, not counted as attempts; then the stage is
// retried.
func TestArtifactRetry(t *testing.T) {
	number := func(n int) *int { return &n }
	ladder := map[plan.Outcome]plan.Edge{plan.OutcomeSuccess: {To: plan.ToNext}}
	for _, tt := range []struct {
		name   string
		node   plan.Node
		bad    int
		calls  []string
		status state.Status
	}{
		{"well at once", plan.Node{}, 0, []string{"i1 first"}, state.Completed},
		{"healed", plan.Node{}, 1, []string{"i1 first", "i1 heal 1/1"}, state.Completed},
		{"bad twice, a plain node", plan.Node{}, 2, []string{"i1 first", "i1 heal 1/1"}, state.Failed},
		{"without", plan.Node{Artifact: &plan.Artifact{Heal: number(0)}}, 1, []string{"i1 first"}, state.Failed},
		{"three times", plan.Node{Artifact: &plan.Artifact{Heal: number(3)}}, 3, []string{"i1 first", "i1 heal 1/3", "i1 heal 2/3", "i1 heal 3/3"}, state.Completed},
		{
			"bad always, with a ladder",
			plan.Node{Transitions: ladder},
			9,
			[]string{"i1 first", "i1 heal 1/1", "i2 first", "i2 heal 1/1", "i3 first", "i3 heal 1/1"},
			state.Paused,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := tt.node
			n.Path, n.ID, n.Kind, n.Termination = "0", "make", plan.KindStage, plan.Termination{"type": "fixed"}
			if n.Artifact == nil {
				n.Artifact = &plan.Artifact{}
			}
			made, s := runWithBadArtifacts(t, n, tt.bad)
			compare(t, tt.calls, made)
			if s.Status != tt.status {
				t.Errorf("status %s, want %s", s.Status, tt.status)
			}
		})
	}
}

// An artifact retry is not charged: an attempt that crashes after it has all its retries.
func TestArtifactRetryIsNotCharged(t *testing.T) {
	n := plan.Node{Path: "0", ID: "make", Kind: plan.KindStage, Termination: plan.Termination{"type": "fixed"}, Artifact: &plan.Artifact{}}
	w := newScriptedRun(t, &plan.Plan{Nodes: []plan.Node{n}})
	w.attempt = func(c schedule.Command, _ string) string {
		if faults := w.state.Nodes["0"].Loop.Faults; c.Kind == schedule.Attempt && (len(faults) > 0) != (c.Attempt > 1) {
			t.Errorf("attempt %d has faults %v", c.Attempt, faults)
		}
		if c.Kind == schedule.Attempt && c.Attempt == 2 {
			return "crash"
		}
		return ""
	}
	settled := 0
	for range 100 {
		cmds := schedule.Decide(w.plan, w.state)
		switch {
		case len(cmds) == 0:
			if !w.fire() {
				if w.state.Status != state.Completed || settled != 2 {
					t.Fatalf("%s after %d artifacts: %v", w.state.Status, settled, w.record)
				}
				return
			}
		case cmds[0].Kind == schedule.Settle && settled == 0:
			settled++
			w.add(event.New(event.Error, cmds[0].Location.Cursor(), cmds[0].Key, event.FailureData{ErrorType: "result_invalid", Faults: []event.Fault{{Path: "$"}}}))
		default:
			if cmds[0].Kind == schedule.Settle {
				settled++
			}
			w.perform(cmds[0])
		}
	}
	t.Fatal("no end")
}

// U112, DIALECT B4: a run begins with the node of --start and is complete after that of exit_after; other nodes are
// never entered.
func TestStartAndExit(t *testing.T) {
	nodes := []string{"intake", "spec", "red", "green"}
	for _, tt := range []struct {
		name    string
		over    *plan.Overrides
		exit    string
		entered []string
		exited  string
	}{
		{"whole", nil, "", nodes, ""},
		{"exit_after", nil, "spec", []string{"intake", "spec"}, "spec"},
		{"after the last", nil, "green", nodes, ""},
		{"the command line goes before the file", &plan.Overrides{ExitAfter: "red"}, "spec", []string{"intake", "spec", "red"}, "red"},
		{"start", &plan.Overrides{Start: "red"}, "", []string{"red", "green"}, ""},
		{"both", &plan.Overrides{Start: "spec", ExitAfter: "red"}, "", []string{"spec", "red"}, "red"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := &plan.Plan{Pipeline: plan.Pipeline{Overrides: tt.over, ExitAfter: tt.exit}}
			for i, id := range nodes {
				p.Nodes = append(p.Nodes, plan.Node{Path: fmt.Sprint(i), ID: id, Kind: plan.KindStage, Termination: plan.Termination{"type": "fixed"}})
			}
			w := newScriptedRun(t, p).run()
			var entered []string
			for i, id := range nodes {
				if _, in := w.state.Nodes[fmt.Sprint(i)]; in {
					entered = append(entered, id)
				}
			}
			compare(t, tt.entered, entered)
			if w.state.Status != state.Completed || w.state.ExitedAfter != tt.exited {
				t.Errorf("%s, exited after %q", w.state.Status, w.state.ExitedAfter)
			}
		})
	}
}

// An artifact retry that a crash or a pause interrupts is repeated as an artifact retry, because the attempt before
// it has ended.
func TestInterruptedArtifactRetry(t *testing.T) {
	for _, how := range []string{"crash", "pause"} {
		t.Run(how, func(t *testing.T) {
			n := plan.Node{Path: "0", ID: "make", Kind: plan.KindStage, Termination: plan.Termination{"type": "fixed"}, Artifact: &plan.Artifact{}}
			w := newScriptedRun(t, &plan.Plan{Nodes: []plan.Node{n}})
			var made []string
			settled, cut := 0, false
			for range 100 {
				cmds := schedule.Decide(w.plan, w.state)
				if len(cmds) == 0 && !w.fire() {
					break
				}
				if len(cmds) == 0 {
					continue
				}
				switch c := cmds[0]; {
				case c.Kind == schedule.Attempt:
					made = append(made, string(c.Key))
					if c.Attempt == 2 && !cut {
						cut = true
						w.add(*c.Event)
						if how == "pause" {
							w.add(event.New(event.Control, nil, "", event.ControlData{ID: "c", Action: "pause"}))
							w.add(event.New(event.Error, c.Location.Cursor(), c.Key, event.FailureData{ErrorType: "signal_interrupt", Message: "stopped"}))
							w.add(*schedule.Decide(w.plan, w.state)[0].Event)
						}
						w.resume(event.SessionResumedData{})
						continue
					}
					w.perform(c)
				case c.Kind == schedule.Settle && settled == 0:
					settled++
					w.add(event.New(event.Error, c.Location.Cursor(), c.Key, event.FailureData{ErrorType: "result_invalid", Faults: []event.Fault{{Path: "$"}}}))
				default:
					w.perform(c)
				}
			}
			if w.state.Status != state.Completed {
				t.Errorf("the run is %s", w.state.Status)
			}
			want := []string{"attempt:0/v1/r1/-/-/i1#1", "attempt:0/v1/r1/-/-/i1#2", "attempt:0/v1/r1/-/-/i1#2"}
			compare(t, want, made)
		})
	}
}
