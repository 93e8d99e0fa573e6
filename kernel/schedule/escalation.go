package schedule

import (
	"cmp"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// What the engine may not decide is put to a person. The run pauses for it, or goes on running until it is answered or its
// time is over: policy.escalation of the node that it is about.

// nobodyAnswered is why a run ends that waited for a person in vain.
const nobodyAnswered = "nobody answered in time"

// need is what a person is needed for.
type escalation struct {
	key    event.Key // of what waits for the answer
	cursor *event.Cursor
	code   string // of what made a person needed, "" for none
	text   string
	remedy string
	shown  []event.Ref // the files that it is about
}

// escalate asks a person about the node or a part of it, and waits.
func escalate(p *plan.Plan, s state.State, n *plan.Node, of escalation) []Command {
	id := event.QuestionID(of.key)
	q, asked := s.Questions[id]
	switch {
	case !asked:
		return record(event.New(event.QuestionAsked, of.cursor, of.key, newQuestion(p, s, n, of)))
	case q.Answer != nil:
		return failUnanswered(p, s, n, q)
	case q.Lapsed && q.OnTimeout != plan.ToPause:
		return record(event.New(event.QuestionAnswered, of.cursor, "", event.QuestionAnsweredData{
			ID: id, Answer: event.AnswerReject, Digest: q.Digest, Expired: true,
		}))
	default:
		return awaitAnswer(s, of.cursor, id, q)
	}
}

// question asks about the need, under the policy of the node. Where the policy does not let the run wait, it has a limit
// only if it names one and somebody waits all the same.
func newQuestion(p *plan.Plan, s state.State, n *plan.Node, of escalation) event.QuestionAskedData {
	digest := of.text
	for _, ref := range of.shown {
		digest += "\n" + ref.Path + " " + ref.SHA256
	}
	d := event.QuestionAskedData{
		ID: event.QuestionID(of.key), Kind: event.QuestionEscalation, Text: of.text, Digest: event.Digest(digest),
		Options: []string{event.AnswerApprove, event.AnswerReject}, Code: of.code, Remedy: of.remedy, Shown: of.shown,
	}
	e := p.PolicyOf(n).Escalation
	if e == nil {
		return d
	}
	d.Waits = e.Waits()
	switch {
	case e.Timeout > 0 && (d.Waits || s.Waits):
		d.Within = seconds(e.Timeout)
	case d.Waits:
		d.Within = seconds(plan.DefaultEscalationTimeout)
	}
	if d.Within > 0 {
		d.OnTimeout = cmp.Or(e.OnTimeout, plan.ToAbort)
	}
	return d
}

// failUnanswered ends the run as failed because nobody answered, where its node says so.
func failUnanswered(p *plan.Plan, s state.State, n *plan.Node, q state.Question) []Command {
	node, ns := p.Find(s.At), s.Nodes[s.At]
	f := &event.FailureData{
		Code: cmp.Or(q.Code, failure.ApprovalRequired.Code()), ErrorType: string(failure.ApprovalRequired), Node: n.ID, Stage: n.ID,
		Message: nobodyAnswered + ": " + q.Text, Remedy: cmp.Or(q.Remedy, "resume asks again"), ResumeCommand: "agent-pipelines resume " + s.Session,
	}
	last := event.New(event.NodeComplete, iterationLocation(s.At, ns).Cursor(), "", event.NodeCompleteData{
		Name: NodeName(p, s, node), Status: string(state.NodeFailed), Outcome: string(plan.OutcomeEscalate), Reason: f.Message, To: plan.ToFailed, Failure: f,
	})
	if n.Path != s.At || len(ns.Order) > 0 { // what else runs in the node ends first
		return record(last)
	}
	return completeSession(p, s, last)
}

// rests reports whether the commands let the run end or pause for want of a person.
func isResting(cmds []Command) bool {
	return len(cmds) == 1 && cmds[0].Event != nil && (cmds[0].Event.Type == event.SessionPaused || cmds[0].Event.Type == event.NodeComplete)
}

// rest lets the run end or pause for the first of those that need a person, once nothing else can go on.
func decideRest(p *plan.Plan, s state.State, waits []Command) []Command {
	if waits[0].Event.Type == event.NodeComplete {
		return completeSession(p, s, *waits[0].Event)
	}
	return waits[:1]
}

// shownOf are the files that a person looks at who is asked about a node: what it made last, and what is said of that.
func shownFiles(l state.Loop) []event.Ref {
	var shown []event.Ref
	for _, ref := range []*event.Ref{l.Made, l.Feedback} {
		if ref != nil {
			shown = append(shown, *ref)
		}
	}
	return shown
}

// ---- Apply

// escalated gives an escalation its name and the time by which it is to be answered.
func initEscalation(s *state.State, q *state.Question, d event.QuestionAskedData) {
	s.Escalation = state.EscalationName(s.Escalation, q.AskedAt)
	q.Escalation, q.Remedy, q.Waits, q.OnTimeout = s.Escalation, d.Remedy, d.Waits, d.OnTimeout
	if d.Within <= 0 {
		return
	}
	due := q.AskedAt.Add(d.Within)
	q.Due = &due
	if s.Timers == nil {
		s.Timers = map[event.Key]state.Timer{}
	}
	s.Timers[q.Key] = state.Timer{Purpose: state.PurposeEscalation, Due: due}
}

// lapse marks the escalation whose time is over.
func expireEscalation(s *state.State, key event.Key) {
	for id, q := range s.Questions {
		if q.Key == key && q.Kind == event.QuestionEscalation {
			q.Lapsed = true
			s.Questions[id] = q
		}
	}
}

// unbind takes the limits from escalations that nobody waits for any more: a run that rests may rest as long as it likes
// (K9).
func clearDeadlines(s *state.State) {
	for id, q := range s.Questions {
		if q.Kind == event.QuestionEscalation && q.Due != nil {
			delete(s.Timers, q.Key)
			q.Due, q.Lapsed, q.Waits = nil, false, false
			s.Questions[id] = q
		}
	}
}
