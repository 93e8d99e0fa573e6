package schedule_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// drawWraps makes a node wrap a command, or the pipeline that it runs.
func drawWraps(t *rapid.T, n *plan.Node) {
	if rapid.IntRange(0, 2).Draw(t, "wraps") > 0 || n.Steps != nil {
		return
	}
	n.Wraps = &plan.Wraps{}
	if n.Kind == plan.KindStage {
		n.Wraps.Run = "true"
	}
}

// drawInputChecked draws the result of inspecting a node's input artifact.
func drawInputChecked(t *rapid.T) event.InputCheckedData {
	input := &event.Ref{Path: "input", SHA256: "x"}
	switch rapid.IntRange(0, 6).Draw(t, "input") {
	case 0:
		return event.InputCheckedData{Failure: &event.FailureData{
			ErrorType: rapid.SampledFrom([]string{"result_invalid", "aborted"}).Draw(t, "unfit"), Message: "no goal", Escalate: true,
		}}
	case 1:
		return event.InputCheckedData{Skip: true, Artifact: drawArtifact(t)}
	default:
		return event.InputCheckedData{Input: input, Warnings: []string{"goal is null"}}
	}
}

func drawArtifact(t *rapid.T) *event.Ref {
	if rapid.Bool().Draw(t, "no artifact") {
		return nil
	}
	return &event.Ref{Path: "artifacts/drawn.yaml", SHA256: fmt.Sprint(rapid.IntRange(0, 99).Draw(t, "artifact of"))}
}

// drawHanded draws the end of settling a node that wraps a pipeline.
func (s *simulation) drawHanded(c schedule.Command) event.Event {
	if rapid.IntRange(0, 3).Draw(s.t, "bad outputs") == 0 {
		return event.New(event.Error, c.Location.Cursor(), c.Key, drawBadArtifact(s.t))
	}
	return event.New(event.ArtifactWritten, c.Location.Cursor(), c.Key, event.ArtifactWrittenData{Name: event.Artifact, Ref: event.Ref{Path: "handed", SHA256: "y"}})
}

// U027: a pipeline node that ends well has its pipeline's deliverable as its artifact; one that wraps the pipeline
// has its own settled one.
func TestDeliverablesOfPipelineNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := start(t, drawPlan(t))
		s.run(maxTransitions)
		for i, e := range s.journal {
			if e.Type != event.NodeComplete || e.Cursor == nil {
				continue
			}
			n := s.plan.Find(e.Cursor.NodePath)
			d := must(event.Decode[event.NodeCompleteData](e))
			if n.Kind != plan.KindPipeline || d.Outcome != string(plan.OutcomeSuccess) {
				continue
			}
			checkDelivered(t, s.plan, s.states[i], n)
		}
	})
}

func checkDelivered(t *rapid.T, p *plan.Plan, st state.State, n *plan.Node) {
	ref, has := st.Nodes[n.Path].Artifacts[event.Artifact]
	if n.Wraps != nil {
		if !has || ref.Path != "handed" {
			t.Fatalf("%s ended well with %+v", n.Path, ref)
		}
		return
	}
	_, want, made := progress.Deliverable(p, st, n.Path)
	if has != made {
		t.Fatalf("%s ended well, with an artifact: %t, and its pipeline: %t", n.Path, has, made)
	}
	if diff := cmp.Diff(want, ref); diff != "" {
		t.Fatalf("%s:\n%s", n.Path, diff)
	}
}
