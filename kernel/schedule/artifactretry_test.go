package schedule_test

import (
	"fmt"
	"testing"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// newArtifactRun returns a run of one node. In every iteration, the artifacts of the first attempts, up to number bad,
// are invalid.
func newArtifactRun(t *testing.T, n plan.Node, bad int) *scriptedRun {
	t.Helper()
	n.Path, n.ID, n.Kind, n.Termination = "0", "make", plan.KindStage, plan.Termination{"type": "fixed"}
	if n.Artifact == nil {
		n.Artifact = &plan.Artifact{}
	}
	w := newScriptedRun(t, &plan.Plan{Nodes: []plan.Node{n}})
	w.badArtifacts = bad
	return w
}

// D5: an invalid artifact is requested again as often as heal allows, without counting against the attempt limit. Then
// the stage is retried.
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
		{"well at once", plan.Node{}, 0, []string{"make v1 i1"}, state.Completed},
		{"healed", plan.Node{}, 1, []string{"make v1 i1", "heal 1 of 1", "make v1 i1#2"}, state.Completed},
		{"bad twice, a plain node", plan.Node{}, 2, []string{"make v1 i1", "heal 1 of 1", "make v1 i1#2"}, state.Failed},
		{"without", plan.Node{Artifact: &plan.Artifact{Heal: number(0)}}, 1, []string{"make v1 i1"}, state.Failed},
		{"three times", plan.Node{Artifact: &plan.Artifact{Heal: number(3)}}, 3, []string{
			"make v1 i1", "heal 1 of 3", "make v1 i1#2", "heal 2 of 3", "make v1 i1#3", "heal 3 of 3", "make v1 i1#4",
		}, state.Completed},
		{"bad always, with a ladder", plan.Node{Transitions: ladder}, 9, []string{
			"make v1 i1", "heal 1 of 1", "make v1 i1#2", "stage 2 of 3",
			"make v1 i2", "heal 1 of 1", "make v1 i2#2", "stage 3 of 3", "make v1 i3", "heal 1 of 1", "make v1 i3#2",
		}, state.Paused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newArtifactRun(t, tt.node, tt.bad).run()
			compare(t, tt.calls, w.record)
			compare(t, tt.status, w.state.Status)
		})
	}
}

// An artifact retry does not count against the attempt limit: an attempt that crashes after it has all its retries.
func TestArtifactRetryIsNotCharged(t *testing.T) {
	w := newArtifactRun(t, plan.Node{}, 1)
	w.attempt = func(c schedule.Command, _ string) string {
		if faults := w.state.Nodes["0"].Loop.Faults; c.Kind == schedule.Attempt && (len(faults) > 0) != (c.Attempt > 1) {
			t.Errorf("attempt %d has faults %v", c.Attempt, faults)
		}
		if c.Kind == schedule.Attempt && c.Attempt == 2 {
			return "crash"
		}
		return ""
	}
	w.run().requireStopped(state.Completed, "")
	compare(t, []string{"make v1 i1", "heal 1 of 1", "make v1 i1#2", "wait 4s", "make v1 i1#3"}, w.record)
}

// U112, DIALECT B4: a run begins with the node of --start and is complete after the node of exit_after; other nodes are
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
		{"the command line goes before the file", &plan.Overrides{PathOverrides: plan.PathOverrides{ExitAfter: "red"}}, "spec", []string{"intake", "spec", "red"}, "red"},
		{"start", &plan.Overrides{PathOverrides: plan.PathOverrides{Start: "red"}}, "", []string{"red", "green"}, ""},
		{"both", &plan.Overrides{PathOverrides: plan.PathOverrides{Start: "spec", ExitAfter: "red"}}, "", []string{"spec", "red"}, "red"},
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
			require(t, w.state.Status == state.Completed && w.state.ExitedAfter == tt.exited, w.state)
		})
	}
}

// An artifact retry that a crash or a pause interrupts is repeated as an artifact retry, because the attempt before
// it has ended.
func TestInterruptedArtifactRetry(t *testing.T) {
	for _, how := range []string{"crash", "pause"} {
		t.Run(how, func(t *testing.T) {
			w := newArtifactRun(t, plan.Node{}, 1)
			c := w.performUntil(func(c schedule.Command) bool { return c.Kind == schedule.Attempt && c.Attempt == 2 })
			w.add(*c.Event)
			if how == "pause" {
				w.add(event.New(event.Control, nil, "", event.ControlData{ID: "c", Action: "pause"}))
				w.add(event.New(event.Error, c.Location.Cursor(), c.Key, event.FailureData{ErrorType: "signal_interrupt", Message: "stopped"}))
				w.add(*schedule.Decide(w.plan, w.state)[0].Event)
			}
			w.resume(event.SessionResumedData{}).run().requireStopped(state.Completed, "")
			compare(t, []string{"make v1 i1", "heal 1 of 1", "make v1 i1#2"}, w.record)
		})
	}
}
