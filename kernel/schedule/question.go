package schedule

import (
	"fmt"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/state"
)

// awaitAnswer waits for a person: running, where somebody is there to be asked, else paused.
func awaitAnswer(s state.State, cursor *event.Cursor, id string, q state.Question) []Command {
	if s.WaitsFor(q) {
		return nil
	}
	kind := state.PauseApproval
	if q.Kind == event.QuestionEscalation {
		kind = state.PauseEscalation
	}
	return record(event.New(event.SessionPaused, cursor, "", event.SessionPausedData{Kind: string(kind), Reason: q.Text, Question: id, Code: q.Code}))
}

// ---- Apply

func applyQuestionAsked(s *state.State, e event.Event) error {
	d, err := event.Decode[event.QuestionAskedData](e)
	if err != nil {
		return err
	}
	switch {
	case e.Key.Kind() == event.KeyHook:
		if err := applyHookQuestion(s, e, d); err != nil {
			return err
		}
	case d.Kind == event.QuestionTool && !isAttempting(*s, e.Key):
		return invalidTransition(e, "the attempt that asks is over")
	}
	if s.Questions == nil {
		s.Questions = map[string]state.Question{}
	}
	q := state.Question{
		Kind: d.Kind, Digest: d.Digest, Key: e.Key, Node: s.At, Text: d.Text, Options: d.Options, AcceptFeedback: d.AcceptFeedback,
		Preview: d.Preview, Shown: d.Shown, AskedAt: e.Time, Due: d.Due, Code: d.Code, Call: d.Call,
	}
	if d.Kind == event.QuestionEscalation {
		initEscalation(s, &q, d)
	}
	s.Questions[d.ID] = q
	return nil
}

// applyAnswered takes a person's answer. It counts only for what was shown: of a question that has been asked anew
// the digest is another. What waits for the answer takes it up when the run goes on; a refusal without a word ends
// the run at once.
func applyQuestionAnswered(p *plan.Plan, s *state.State, e event.Event) error {
	d, err := event.Decode[event.QuestionAnsweredData](e)
	if err != nil {
		return err
	}
	q, asked := s.Questions[d.ID]
	switch {
	case !asked:
		return invalidTransition(e, "no question "+d.ID+" is open")
	case s.Status.Final():
		return invalidTransition(e, "the session has ended")
	case q.Answer != nil:
		return invalidTransition(e, "question "+d.ID+" has been answered already")
	case d.Digest != q.Digest:
		return invalidTransition(e, "the answer is to something that has changed since")
	case !slices.Contains(q.Options, d.Answer):
		return invalidTransition(e, fmt.Sprintf("%q is no answer to question %s", d.Answer, d.ID))
	case d.Answer == event.AnswerReject && d.Text != "" && !q.AcceptFeedback:
		return invalidTransition(e, "question "+d.ID+" takes no feedback")
	}
	if err := markHandled(s, e, d.Control); err != nil {
		return err
	}
	switch {
	case q.Kind == event.QuestionTool: // the attempt has it, and journals what it makes of it
		removeQuestion(s, d.ID)
	case d.Expired && q.OnTimeout == plan.ToFailed:
		q.Answer = &state.Answer{Word: d.Answer, At: e.Time}
		s.Questions[d.ID] = q
	case d.Answer == event.AnswerReject && d.Text == "":
		removeQuestion(s, d.ID)
		s.Stop = &state.Stop{Action: "abort", Reason: refusalPrefix(q, d.Expired) + q.Text, By: d.By, Hook: true}
	case q.Kind == event.QuestionEscalation:
		removeQuestion(s, d.ID)
		appendContext(s, d.Text)
		approveEscalation(p, s, q.Key)
	default:
		q.Answer = &state.Answer{Word: d.Answer, Text: d.Text, By: d.By, At: e.Time}
		s.Questions[d.ID] = q
	}
	return nil
}

// refusal begins the reason of a run that a question has ended.
func refusalPrefix(q state.Question, expired bool) string {
	switch {
	case expired:
		return nobodyAnswered + ": "
	case q.Kind == event.QuestionSupervise:
		return "rejected stage output: "
	default:
		return "rejected: "
	}
}

// allow lets go on what a person was asked about by escalation.
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
		if n.Restart != nil && restartKey(loc.Node, n) == key {
			n.Restart = &state.Restart{Reason: n.Restart.Reason, Granted: true}
		}
	} else {
		updateLoops(loc.Outer(), &n, func(of event.Location, l state.Loop) state.Loop {
			if l.Phase == state.PhaseCutOff && cutOffKey(of, l) == key { // the others were not asked about
				return resumeLoop(l, true)
			}
			return l
		})
	}
	s.Nodes[loc.Outer()] = n
}

// say keeps a person's word for the next prompts.
func appendContext(s *state.State, text string) {
	switch {
	case text == "":
	case s.Context == "":
		s.Context = text
	default:
		s.Context += "\n" + text
	}
}

// heard leaves of what people said what came too late for the last prompts.
func consumeContext(s *state.State, bytes int) {
	s.Context = s.Context[min(bytes, len(s.Context)):]
	if len(s.Context) > 0 && s.Context[0] == '\n' {
		s.Context = s.Context[1:]
	}
}

// handle remembers a message of somebody outside, so that it is not taken twice.
func markHandled(s *state.State, e event.Event, id string) error {
	if id == "" {
		return nil
	}
	if slices.Contains(s.Handled, id) {
		return invalidTransition(e, "control message "+id+" was already applied")
	}
	s.Handled = append(s.Handled, id)
	s.Handled = s.Handled[max(0, len(s.Handled)-maxHandled):]
	return nil
}

// attempting reports whether the attempt with the key is under way.
func isAttempting(s state.State, key event.Key) bool {
	_, loc, _, ok := key.Parse()
	if !ok {
		return false
	}
	found, ok := findLoop(s.Nodes[loc.Outer()], loc)
	return ok && found.loop.Phase == state.PhaseAttempt && found.loc.Key(event.KeyAttempt, found.loop.Attempt) == key
}

// anyQuestion holds for all of them.
func anyQuestion(state.Question) bool { return true }

// ofNode holds for the questions that something in the node asked.
func inNode(path string) func(state.Question) bool {
	return func(q state.Question) bool {
		_, loc, _, ok := q.Key.Parse()
		return ok && loc.Outer() == path
	}
}

// ofLoop holds for the questions that hooks of the loop at the place asked.
func inLoop(loc event.Location) func(state.Question) bool {
	return func(q state.Question) bool {
		kind, of, _, ok := q.Key.Parse()
		return ok && kind == event.KeyHook && of.Node == loc.Node && of.Branch == loc.Branch
	}
}

// dropQuestions forgets the questions that the condition holds for.
func dropQuestions(s *state.State, drop func(state.Question) bool) {
	for id, q := range s.Questions {
		if drop(q) {
			removeQuestion(s, id)
		}
	}
	if len(s.Questions) == 0 {
		s.Questions = nil
	}
}

// forget forgets a question, and by when it was to be answered.
func removeQuestion(s *state.State, id string) {
	delete(s.Timers, s.Questions[id].Key) // only an escalation has one by its own key
	delete(s.Questions, id)
}
