package schedule

import (
	"cmp"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/progress"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// An escalation asks the user when the engine may not decide. The run pauses for it, or keeps running until the
// answer or the deadline, as policy.escalation of the node says.

// escalation describes a question to the user about stuck work.
type escalation struct {
	key    event.Key // of the loop or node that waits for the answer
	cursor *event.Cursor
	code   string // of the cause, "" for none
	text   string
	remedy string
	shown  []event.Ref // the files that the question is about
}

// escalate asks the user about the node or a part of it, and waits.
func escalate(p *plan.Plan, s state.State, n *plan.Node, esc escalation) []Command {
	id := event.QuestionID(esc.key)
	q, asked := s.Questions[id]
	switch {
	case !asked:
		return record(event.New(event.QuestionAsked, esc.cursor, esc.key, newQuestion(p, s, n, esc)))
	case q.Answer != nil:
		return failUnanswered(p, s, n, q)
	case q.Expired && q.OnTimeout != plan.ToPause:
		return record(event.New(event.QuestionAnswered, esc.cursor, "", event.QuestionAnsweredData{
			ID: id, Answer: event.AnswerReject, Digest: q.Digest, Expired: true,
		}))
	default:
		return awaitAnswer(s, esc.cursor, id, q)
	}
}

// newQuestion returns the question under the policy of the node. Without wait in the policy, the question has a
// deadline only if the policy sets one and the session waits anyway.
func newQuestion(p *plan.Plan, s state.State, n *plan.Node, esc escalation) event.QuestionAskedData {
	digest := esc.text
	for _, ref := range esc.shown {
		digest += "\n" + ref.Path + " " + ref.SHA256
	}
	d := event.QuestionAskedData{
		ID: event.QuestionID(esc.key), Kind: event.QuestionEscalation, Text: esc.text, Digest: event.Digest(digest),
		Options: []string{event.AnswerApprove, event.AnswerReject}, Code: esc.code, Remedy: esc.remedy, Shown: esc.shown,
	}
	e := p.EffectivePolicy(n).Escalation
	if e == nil {
		return d
	}
	d.Waits = e.Waits()
	switch {
	case e.Timeout > 0 && (d.Waits || s.Waits):
		d.TimeLimit = plan.Seconds(e.Timeout)
	case d.Waits:
		d.TimeLimit = plan.Seconds(plan.DefaultEscalationTimeout)
	}
	if d.TimeLimit > 0 {
		d.OnTimeout = cmp.Or(e.OnTimeout, plan.ToAbort)
	}
	return d
}

// failUnanswered fails the run after an escalation that expired under on_timeout: failed.
func failUnanswered(p *plan.Plan, s state.State, n *plan.Node, q state.Question) []Command {
	node, ns := p.Find(s.At), s.Nodes[s.At]
	f := &event.FailureData{
		Code: cmp.Or(q.Code, failure.ApprovalRequired.Code()), ErrorType: string(failure.ApprovalRequired), Node: n.ID, Stage: n.ID,
		Message: progress.NoAnswerInTime + ": " + q.Text, Remedy: cmp.Or(q.Remedy, "resume asks again"), ResumeCommand: failure.Next("resume", s.Session).String(),
	}
	last := event.New(event.NodeComplete, ns.IterationLocation(s.At).Cursor(), "", event.NodeCompleteData{
		Name: progress.NodeName(p, s, node), Status: string(state.NodeFailed), Outcome: string(plan.OutcomeEscalate), Reason: f.Message, To: plan.ToFailed, Failure: f,
	})
	if n.Path != s.At || len(ns.Order) > 0 { // other work in the node ends first
		return record(last)
	}
	return completeSession(p, s, last)
}

// isResting reports whether the commands end or pause the run because the user is needed.
func isResting(cmds []Command) bool {
	return len(cmds) == 1 && cmds[0].Event != nil && (cmds[0].Event.Type == event.SessionPaused || cmds[0].Event.Type == event.NodeComplete)
}

// decideRest ends or pauses the run for the first of the waiting commands, once nothing else can continue.
func decideRest(p *plan.Plan, s state.State, waits []Command) []Command {
	if waits[0].Event.Type == event.NodeComplete {
		return completeSession(p, s, *waits[0].Event)
	}
	return waits[:1]
}

// shownFiles returns the files for a question about a node: its last artifact and its feedback.
func shownFiles(l state.Loop) []event.Ref {
	var shown []event.Ref
	for _, ref := range []*event.Ref{l.Artifact, l.Feedback} {
		if ref != nil {
			shown = append(shown, *ref)
		}
	}
	return shown
}
