package progress

import (
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

func applyQuestionAsked(_ *plan.Plan, s *state.State, e event.Event, d event.QuestionAskedData) error {
	switch {
	case e.Key.Kind() == event.KeyHook:
		// The hook's action is over until the answer arrives.
		if _, err := updateCursor(s, e, hookRef{d.Point, d.Hook}, func(cursor *state.HookCursor) { cursor.Firing = 0 }); err != nil {
			return err
		}
	case d.Kind == event.QuestionTool && !isAttempting(*s, e.Key):
		return invalidTransition(e, "the attempt that asks is over")
	}
	q := state.Question{
		Kind: d.Kind, Digest: d.Digest, Key: e.Key, Node: s.At,
		QuestionText: state.QuestionText{
			Text: d.Text, Options: d.Options, AcceptFeedback: d.AcceptFeedback, Preview: d.Preview, Shown: d.Shown,
		},
		AskedAt: e.Time, Due: d.Due, Code: d.Code, Call: d.Call,
	}
	if d.Kind == event.QuestionEscalation {
		initEscalation(s, &q, d)
	}
	put(&s.Questions, d.ID, q)
	return nil
}

// applyQuestionAnswered records the user's answer, which counts only for the digest that was shown. The asking hook or
// node uses it when the run continues. A rejection without text ends the run, unless it is about a tool call.
func applyQuestionAnswered(p *plan.Plan, s *state.State, e event.Event, d event.QuestionAnsweredData) error {
	q, asked := s.Questions[d.ID]
	switch {
	case !asked:
		return invalidTransition(e, "no question "+d.ID+" is open")
	case s.Status.Final():
		return invalidTransition(e, "the session has ended")
	case q.Answer != nil:
		return invalidTransition(e, "question "+d.ID+" has been answered already")
	case d.Digest != q.Digest:
		return invalidTransition(e, "the question has changed since the answer")
	case !slices.Contains(q.Options, d.Answer):
		return invalidTransition(e, fmt.Sprintf("%q is not an option of question %s", d.Answer, d.ID))
	case d.Answer == event.AnswerReject && d.Text != "" && !q.AcceptFeedback:
		return invalidTransition(e, "question "+d.ID+" takes no feedback")
	}
	if err := markHandled(s, e, d.Control); err != nil {
		return err
	}
	switch {
	case q.Kind == event.QuestionTool: // the attempt receives the answer and journals the result
		s.RemoveQuestion(d.ID)
	case d.Expired && q.OnTimeout == plan.ToFailed:
		q.Answer = &state.Answer{Option: d.Answer, At: e.Time}
		s.Questions[d.ID] = q
	case d.Answer == event.AnswerReject && d.Text == "":
		s.RemoveQuestion(d.ID)
		s.Stop = &state.Stop{Action: "abort", Reason: refusalPrefix(q, d.Expired) + q.Text, By: d.By, Hook: true}
	case q.Kind == event.QuestionEscalation:
		s.RemoveQuestion(d.ID)
		s.AppendContext(d.Text)
		approveEscalation(p, s, q.Key)
	default:
		q.Answer = &state.Answer{Option: d.Answer, Text: d.Text, By: d.By, At: e.Time}
		s.Questions[d.ID] = q
	}
	return nil
}

// refusalPrefix returns the beginning of the reason of a run that a question has ended.
func refusalPrefix(q state.Question, expired bool) string {
	switch {
	case expired:
		return NoAnswerInTime + ": "
	case q.Kind == event.QuestionSupervise:
		return "rejected stage output: "
	default:
		return "rejected: "
	}
}

// approveEscalation continues the work that an escalation asked about.
func approveEscalation(p *plan.Plan, s *state.State, key event.Key) {
	_, loc, _, _ := key.Parse()
	if key.Kind() == event.KeyEscalate {
		approveOverride(p, s, loc.Node)
		return
	}
	n, ok := s.Nodes[loc.Outer()]
	if !ok {
		return
	}
	if key.Kind() == event.KeyRestart {
		if n.Restart != nil && n.RestartKey(loc.Node) == key {
			n.Restart = &state.Restart{Reason: n.Restart.Reason, Approved: true}
		}
	} else {
		n.UpdateLoops(loc.Outer(), func(other event.Location, l *state.Loop) {
			if l.Phase == state.PhaseCutOff && l.CutOffKey(other) == key {
				l.Resume(true)
			}
		})
	}
	s.Nodes[loc.Outer()] = n
}

// isAttempting reports whether the attempt with the key is in flight.
func isAttempting(s state.State, key event.Key) bool {
	_, loc, _, ok := key.Parse()
	if !ok {
		return false
	}
	ref, ok := s.Nodes[loc.Outer()].FindLoop(loc)
	return ok && ref.Loop.Phase == state.PhaseAttempt && ref.Location.Key(event.KeyAttempt, ref.Loop.Attempt) == key
}

// NoAnswerInTime is the reason of a run whose escalation expired.
const NoAnswerInTime = "no answer came in time"

// initEscalation sets the name and the deadline of an escalation.
func initEscalation(s *state.State, q *state.Question, d event.QuestionAskedData) {
	s.Escalation = state.EscalationName(s.Escalation, q.AskedAt)
	q.Escalation, q.Remedy, q.Waits, q.OnTimeout = s.Escalation, d.Remedy, d.Waits, d.OnTimeout
	if d.TimeLimit <= 0 {
		return
	}
	due := q.AskedAt.Add(d.TimeLimit)
	q.Due = &due
	put(&s.Timers, q.Key, state.Timer{Purpose: state.PurposeEscalation, Due: due})
}
