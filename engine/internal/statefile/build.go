package statefile

import (
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/schedule"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// build returns the parts of the file before and after the history.
func build(p *plan.Plan, st state.State, iterations int) (Head, Tail) {
	current := currentStage(p, st)
	var loop state.Loop
	if current < len(p.Nodes) {
		loop = st.Nodes[p.Nodes[current].Path].Loop
	}
	counters := counted(p, st, current)
	f := Head{
		Session: st.Session, Type: st.Mode, StartedAt: stamp(st.StartedAt), Status: string(st.Status),
		CurrentStage: current, Iteration: counters.Iteration, IterationCompleted: counters.Completed, Stages: []Stage{},
		Run: st.Run, Runs: st.Runs, Waiting: st.UnansweredQuestions(),
	}
	if at := timestamp(loop.IterationStartedAt); at != "" {
		f.IterationStarted = &at
	}
	if st.Mode != "loop" {
		f.Stages = stages(p, st)
	}
	b := Tail{
		ResumedAt: timestamp(st.ResumedAt), RunID: st.RunID, Pipeline: st.Pipeline, CurrentAttempt: loop.Attempt,
		IterationCount: iterations, CompletedStages: []string{}, Cycles: cycles(st),
		Questions: slices.Sorted(maps.Keys(st.Questions)), CostUSD: st.Usage.CostUSD, TokensUsed: event.Sum(st.Usage.InputTokens, st.Usage.OutputTokens),
		ApprovedStages: st.ApprovedStages, Pending: pending(p, st), EventSeq: st.Seq, Scheduler: &st,
	}
	b.addNodes(p, st)
	b.end(st, loop)
	return f, b
}

// pending returns the subjects of the open questions and the text of a rejection; of several alike, the first by id.
func pending(p *plan.Plan, st state.State) Pending {
	var found Pending
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(st.Questions))) {
		q := st.Questions[id]
		_, at, _, _ := q.Key.Parse()
		switch n := p.Find(at.Node); {
		case q.Answer != nil && q.Answer.Option == event.AnswerReject:
			found.Feedback = q.Answer.Text
		case q.Answer != nil:
		case q.Kind == event.QuestionEscalation:
			found.Escalation = id
		case n != nil:
			found.Approval, found.Artifact = n.ID, ""
			if len(q.Shown) > 0 {
				found.Artifact = q.Shown[0].Path
			}
		}
	}
	return found
}

// end fills in the members that say how the run ended or why it waits.
func (b *Tail) end(st state.State, loop state.Loop) {
	at := timestamp(st.EndedAt)
	switch st.Status {
	case state.Completed, state.Aborted:
		b.CompletedAt, b.CompletionReason = at, st.Reason
	case state.Failed:
		b.FailedAt, b.ResumeFrom = at, loop.Completed+1
	case state.Paused:
		b.PausedAt, b.PauseReason, b.PauseKind, b.ResumeFrom = at, st.PauseReason, string(st.PauseKind), loop.Completed+1
		b.PauseCode = st.PauseCode
	}
	if st.Failure != nil {
		b.Error = &Error{Type: st.Failure.ErrorType, Message: st.Failure.Message, Timestamp: at}
		b.ErrorType = st.Failure.ErrorType
	}
}

// currentStage returns the index of the node that the run is at, or of the last node after the end.
func currentStage(p *plan.Plan, st state.State) int {
	top, _, _ := strings.Cut(st.At, ".")
	if i := p.Index(top); i >= 0 {
		return i
	}
	return max(0, len(p.Nodes)-1)
}

// counted returns the loop whose iterations the file shows: the loop of the current node, or, at a parallel block, of
// the node before. The Bash engine counts no iterations in blocks.
func counted(p *plan.Plan, st state.State, current int) state.Loop {
	for i := min(current, len(p.Nodes)-1); i >= 0; i-- {
		if p.Nodes[i].Kind != plan.KindParallel {
			return st.Nodes[p.Nodes[i].Path].Loop
		}
	}
	return state.Loop{}
}

func stages(p *plan.Plan, st state.State) []Stage {
	found := []Stage{}
	cut := p.ExitAfter() != "" || p.Pipeline.Overrides != nil && p.Pipeline.Overrides.Start != ""
	for i := range p.Nodes {
		n, entered := st.Nodes[p.Nodes[i].Path]
		if !entered {
			if cut && schedule.UnreachableReason(p, st, p.Nodes[i].Path) != "" {
				found = append(found, skippedStage(p, i, st))
			}
			continue
		}
		s := Stage{
			Index: i, Name: p.Nodes[i].ID, Status: string(n.Status), Timestamp: stamp(n.StartedAt),
			StartedAt: stamp(n.StartedAt), Outcome: n.Outcome, Visit: n.Visit,
		}
		if n.EndedAt != nil {
			s.Timestamp = stamp(*n.EndedAt)
		}
		found = append(found, s)
	}
	return found
}

// skippedStage returns the entry of a node that the run never reaches. For a node before the run's first node its time
// is the run's beginning, for later nodes the run's end, if the run has ended.
func skippedStage(p *plan.Plan, index int, st state.State) Stage {
	s := Stage{Index: index, Name: p.Nodes[index].ID, Status: string(state.NodeSkipped), Timestamp: stamp(st.StartedAt)}
	if st.EndedAt != nil && index > p.Index(p.First()) {
		s.Timestamp = stamp(*st.EndedAt)
	}
	return s
}

// addNodes adds the results of the nodes. Only nodes with a contract have visits and steps.
func (b *Tail) addNodes(p *plan.Plan, st state.State) {
	b.StageArtifacts, b.Retries = map[string]map[string]event.Ref{}, map[string]int{}
	b.Visits, b.Steps, b.Budget = map[string]int{}, map[string]map[string]string{}, map[string]Budget{}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		for _, c := range p.Ceilings(n.Path) {
			id := ""
			if c.Scope != "" {
				id = n.ID
			}
			b.Budget[id] = newBudget(c.Cost, st.Charges[c.Scope])
		}
		ns, entered := st.Nodes[n.Path]
		if ns.Status == state.NodeComplete {
			b.CompletedStages = append(b.CompletedStages, n.ID)
		}
		if len(ns.Artifacts) > 0 {
			b.StageArtifacts[n.ID] = ns.Artifacts
		}
		if ns.StageAttempt > 0 {
			b.Retries[n.ID] = ns.StageAttempt
		}
		if !entered || !n.HasContract() {
			continue
		}
		b.Visits[n.ID] = ns.Visit
		if len(ns.Steps) == 0 {
			continue
		}
		b.Steps[n.ID] = map[string]string{}
		for id, s := range ns.Steps {
			b.Steps[n.ID][id] = string(s.Status)
		}
	}
}

func newBudget(c plan.Cost, used state.Charge) Budget {
	return Budget{
		LimitUSD: c.MaxUSD, UsedUSD: used.USD, UnknownUSD: used.UnknownUSD,
		LimitTokens: c.MaxTokens, UsedTokens: used.Tokens, UnknownTokens: used.UnknownTokens,
	}
}

func cycles(st state.State) map[string]Cycle {
	all := make(map[string]Cycle, len(st.Cycles))
	for edge, c := range st.Cycles {
		all[edge] = Cycle{Count: c.Count, Limit: c.Limit, Reasons: list(c.Reasons)}
	}
	return all
}
