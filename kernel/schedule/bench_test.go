package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// BenchmarkApply applies the events of an iteration to the last of n nodes; the others have the maximum number of
// decisions.
func BenchmarkApply(b *testing.B) {
	for _, nodes := range []int{1, 10, 30} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			p, st := &plan.Plan{}, state.State{Identity: state.Identity{RunID: "PL-1"}, Lifecycle: state.Lifecycle{Status: state.Running}, Position: state.Position{Nodes: map[string]state.Node{}}}
			for i := range nodes {
				path := fmt.Sprint(i)
				p.Nodes = append(p.Nodes, plan.Node{Path: path, ID: "n" + path, Kind: plan.KindStage, Termination: plan.Termination{"type": "fixed", "max": 1 << 30}})
				st.Nodes[path] = state.Node{NodeProgress: state.NodeProgress{Visit: 1, Run: 1, Status: state.NodeComplete}, NodeLoops: state.NodeLoops{Loop: state.Loop{
					Progress: state.Progress{Phase: state.PhaseReady}, StrategyState: state.StrategyState{Decisions: make([]state.Decision, state.MaxDecisions)},
				}}}
				st.At = path
			}
			last := st.Nodes[st.At]
			last.Status = state.NodeRunning
			st.Nodes[st.At] = last
			loc := event.Location{Node: st.At, Visit: 1, Run: 1}
			i := 0
			apply := func(kind event.Type, key event.Key, data any) {
				e := event.New(kind, loc.Cursor(), key, data)
				e.Seq, e.Time = st.Seq+1, time.Unix(st.Seq, 0)
				next, err := progress.Apply(p, st, e)
				if err != nil {
					b.Fatal(err)
				}
				st = next
			}
			for b.Loop() {
				i++
				loc.Iteration = i
				apply(event.IterationStart, loc.Key(event.KeyAttempt, 1), event.IterationStartData{})
				apply(event.IterationComplete, loc.Key(event.KeyAttempt, 1), event.IterationCompleteData{Decision: "continue"})
				apply(event.Decision, loc.Key(event.KeyDecide, 1), event.DecisionData{Action: "continue"})
				loop := st.Nodes[st.At].Loop
				loop.Phase = state.PhaseReady
				n := st.Nodes[st.At]
				n.Loop = loop
				st.Nodes[st.At] = n
			}
		})
	}
}
