package state

import (
	"maps"
	"slices"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// CheckKey returns the key of the check with the number, counted from 1, at loc.
func (s State) CheckKey(loc event.Location, number int) event.Key {
	if loc.Iteration == 0 {
		number += checkRounds * s.Nodes[loc.Outer()].StageAttempt
	}
	return loc.Key(event.KeyCheck, number)
}

// UnansweredQuestions returns the ids of the unanswered questions, sorted.
func (s State) UnansweredQuestions() []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(s.Questions)) {
		if s.Questions[id].Answer == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// AwaitsUser reports whether the run keeps running until the user answers an open question.
func (s State) AwaitsUser() bool {
	return slices.ContainsFunc(s.UnansweredQuestions(), func(id string) bool { return s.KeepsRunningFor(s.Questions[id]) })
}

// KeepsRunningFor reports whether the run keeps running until the question is answered.
func (s State) KeepsRunningFor(q Question) bool { return (s.Waits || q.Waits) && !q.Expired }

// DropQuestions removes the questions that match.
func (s *State) DropQuestions(match func(Question) bool) {
	for id, q := range s.Questions {
		if match(q) {
			s.RemoveQuestion(id)
		}
	}
	if len(s.Questions) == 0 {
		s.Questions = nil
	}
}

// RemoveQuestion removes a question and its deadline.
func (s *State) RemoveQuestion(id string) {
	delete(s.Timers, s.Questions[id].Key) // only an escalation has a timer under its own key
	delete(s.Questions, id)
}

// DropNodeQuestions removes the questions about the node at path.
func (s *State) DropNodeQuestions(path string) {
	s.DropQuestions(func(q Question) bool {
		_, loc, _, ok := q.Key.Parse()
		return ok && loc.Outer() == path
	})
}

// ExpireEscalation marks the escalation whose deadline has passed.
func (s *State) ExpireEscalation(key event.Key) {
	for id, q := range s.Questions {
		if q.Key == key && q.Kind == event.QuestionEscalation {
			q.Expired = true
			s.Questions[id] = q
		}
	}
}

// ClearDeadlines removes the deadlines of escalations: a run may stay paused without limit (K9).
func (s *State) ClearDeadlines() {
	for id, q := range s.Questions {
		if q.Kind == event.QuestionEscalation && q.Due != nil {
			delete(s.Timers, q.Key)
			q.Due, q.Expired, q.Waits = nil, false, false
			s.Questions[id] = q
		}
	}
}
