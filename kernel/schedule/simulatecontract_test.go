package schedule_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// drawContract adds some keys of a contract to a stage. ids are the ids of the nodes in the stage's list.
func drawContract(t *rapid.T, n *plan.Node, ids []string) {
	if rapid.IntRange(0, 2).Draw(t, "contract") > 0 {
		return
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "checks") {
		n.Checks = append(n.Checks, plan.Check{ID: fmt.Sprint("c", i), At: rapid.SampledFrom([]string{"", plan.AtEnter, plan.AtExit}).Draw(t, "moment")})
	}
	if rapid.Bool().Draw(t, "artifact") {
		heal := rapid.IntRange(0, 2).Draw(t, "heal")
		n.Artifact = &plan.Artifact{Type: "drawn", Heal: &heal}
	}
	if n.Policy == nil {
		n.Policy = &plan.Policy{}
	}
	if rapid.IntRange(0, 3).Draw(t, "cost") == 0 {
		n.Policy.Cost = drawCost(t)
	}
	if len(ids) == 0 { // in a block
		return
	}
	if rapid.IntRange(0, 3).Draw(t, "steps") == 0 {
		n.Steps = &plan.Steps{
			From: ids[0], Parallel: rapid.Bool().Draw(t, "side by side"), Rerun: rapid.SampledFrom([]string{"", "all"}).Draw(t, "rerun"),
			RetryBy: map[string]int{"once": 0},
		}
		delete(n.Termination, "check_before")
	}
	if rapid.Bool().Draw(t, "transitions") {
		n.Transitions = map[plan.Outcome]plan.Edge{}
		targets := append([]string{"next", "done", "retry", "pause", "abort", "failed"}, ids...)
		for _, o := range []plan.Outcome{"success", "fail", "reject", "timeout", "error", "escalate", "budget"} {
			if rapid.IntRange(0, 2).Draw(t, "edge") > 0 {
				continue
			}
			n.Transitions[o] = plan.Edge{
				To: rapid.SampledFrom(targets).Draw(t, "to"), Limit: rapid.IntRange(0, 3).Draw(t, "limit"),
				OnLimit: rapid.SampledFrom([]string{"", "pause", "failed", "abort"}).Draw(t, "on limit"),
			}
		}
	}
	if rapid.Bool().Draw(t, "cycles") {
		n.Policy.Cycles = &plan.Cycles{Session: rapid.IntRange(1, 6).Draw(t, "session"), Identical: rapid.SampledFrom([]int{0, 2}).Draw(t, "identical")}
	}
}

func drawCost(t *rapid.T) *plan.Cost {
	return &plan.Cost{
		MaxUSD: float64(rapid.IntRange(0, 4).Draw(t, "max usd")), ReserveUSD: float64(rapid.IntRange(0, 2).Draw(t, "reserve")) / 2,
		MaxTokens: int64(rapid.IntRange(0, 3).Draw(t, "max tokens") * 1000), WarnUSD: 1,
	}
}

// finishContract ends an effect of a contract. It returns false for any other effect.
func (s *simulation) finishContract(c schedule.Command) bool {
	switch c.Kind {
	case schedule.Check:
		d := event.CheckResultData{ID: c.Check, Passed: rapid.Bool().Draw(s.t, "passed")}
		if rapid.IntRange(0, 5).Draw(s.t, "measurable") == 0 {
			d.Failure = &event.FailureData{ErrorType: rapid.SampledFrom([]string{"hook_failed", "hook_timeout"}).Draw(s.t, "why")}
		}
		s.append(event.New(event.CheckResult, c.Location.Cursor(), c.Key, d))
	case schedule.Settle:
		if n := progress.StageAt(s.plan, s.state, c.Location); n.Kind == plan.KindPipeline {
			s.append(s.drawHanded(c))
			return true
		}
		s.append(s.drawSettled(c))
	case schedule.Inspect:
		s.append(event.New(event.InputChecked, c.Location.Cursor(), c.Key, drawInputChecked(s.t)))
	case schedule.PlanSteps:
		s.append(event.New(event.StepsPlanned, c.Location.Cursor(), c.Key, drawSteps(s.t)))
	default:
		return false
	}
	return true
}

func (s *simulation) drawSettled(c schedule.Command) event.Event {
	if rapid.IntRange(0, 5).Draw(s.t, "bad artifact") == 0 {
		return event.New(event.Error, c.Location.Cursor(), c.Key, drawBadArtifact(s.t))
	}
	return event.New(event.IterationComplete, c.Location.Cursor(), c.Key, event.IterationCompleteData{
		AgentDecision: rapid.SampledFrom([]string{"", "", "error"}).Draw(s.t, "settled ask"), Usage: drawUsage(s.t),
		Settlement: event.Settlement{
			Artifact: drawArtifact(s.t),
			Outcome:  rapid.SampledFrom([]string{"success", "success", "fail", "reject", "escalate", "error"}).Draw(s.t, "outcome"), Message: "drawn",
			FailedSteps: rapid.SampledFrom([][]string{nil, {"s0"}}).Draw(s.t, "failed steps"),
		},
	})
}

func drawUsage(t *rapid.T) *event.Usage {
	if rapid.Bool().Draw(t, "unknown use") {
		return nil
	}
	cost, tokens := float64(rapid.IntRange(0, 4).Draw(t, "cost"))/4, int64(rapid.IntRange(0, 900).Draw(t, "tokens"))
	return &event.Usage{CostUSD: &cost, InputTokens: &tokens}
}

func drawSteps(t *rapid.T) event.StepsPlannedData {
	var d event.StepsPlannedData
	for i := range rapid.IntRange(0, 4).Draw(t, "how many steps") {
		st := event.StepData{ID: fmt.Sprint("s", i), Action: rapid.SampledFrom([]string{"", "once"}).Draw(t, "action"), Item: event.Ref{SHA256: "x"}}
		for j := range i {
			if rapid.IntRange(0, 2).Draw(t, "depends") == 0 {
				st.DependsOn = append(st.DependsOn, fmt.Sprint("s", j))
			}
		}
		d.Steps = append(d.Steps, st)
	}
	return d
}

// contractNode returns the node of an attempt whose outcome must be settled.
func (s *simulation) contractNode(c schedule.Command) *plan.Node {
	n := progress.StageAt(s.plan, s.state, c.Location)
	if n == nil || !n.HasContract() || c.Location.Step != "" {
		return nil
	}
	return n
}

// checkCeilings verifies that the reservations together never exceed a ceiling.
func (s *simulation) checkCeilings() {
	for path := range s.state.Nodes {
		for _, c := range s.plan.Ceilings(path) {
			charge := s.state.Charges[c.Scope]
			held, counted := 0.0, map[event.Location]bool{}
			for _, at := range slices.Sorted(maps.Keys(s.inFlight)) {
				loop := s.inFlight[at].Location
				if loop.Iteration, loop.Visit = 0, 0; counted[loop] { // a hook runs beside the attempt, maybe of an earlier visit, and reserves nothing
					continue
				}
				counted[loop] = true
				if part := s.state.LoopAt(loop).Reserved[c.Scope]; part.USD != nil {
					held += *part.USD
				}
			}
			if most := c.Cost.MaxUSD * float64(1+charge.Renewals); c.Cost.MaxUSD > 0 && held > 0 && held > most {
				s.t.Fatalf("%v USD are held under a ceiling of %v", held, most)
			}
		}
	}
}

// drawBadArtifact draws the failure of an invalid artifact. A failure from an older version has no list of faults.
func drawBadArtifact(t *rapid.T) event.FailureData {
	d := event.FailureData{ErrorType: "result_invalid", Message: "no goal", Retryable: true}
	if rapid.IntRange(0, 2).Draw(t, "listed") > 0 {
		d.Faults = []event.Fault{{Path: "$.goal", Code: "VAL-001", Message: "is missing"}}
	}
	return d
}

// drawRequires makes a node of any kind inspect its input before it begins.
func drawRequires(t *rapid.T, n *plan.Node) {
	switch rapid.IntRange(0, 5).Draw(t, "demands") {
	case 0:
		n.Requires = map[string][]string{plan.RequiresAny: {"goal"}}
	case 1:
		n.SkipWhen = "done"
	}
	if n.NeedsInput() && n.Kind == plan.KindStage && rapid.Bool().Draw(t, "skip edge") {
		n.Transitions = maps.Clone(n.Transitions)
		if n.Transitions == nil {
			n.Transitions = map[plan.Outcome]plan.Edge{}
		}
		n.Transitions[plan.OutcomeSkip] = plan.Edge{To: rapid.SampledFrom([]string{"next", "done", "failed", "abort"}).Draw(t, "skips to")}
	}
}

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

// U027: a pipeline node that ends well has its pipeline's deliverable as its artifact. A node that wraps the
// pipeline has its own settled artifact.
func TestDeliverablesOfPipelineNodes(t *testing.T) {
	checkRuns(t, func(t *rapid.T, s *simulation) {
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
