package state

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// PurposeGuardrail is the purpose of a timer that bounds the running time of the run, a node, an embedded pipeline,
// or a provider's stage in a block.
const PurposeGuardrail = "guardrail"

// PurposeEscalation is the purpose of a timer for an escalation's deadline. It has the key of the question and the
// same lifetime.
const PurposeEscalation = "escalation"

// PurposeBackoff is the purpose of a timer before a retry.
const PurposeBackoff = "backoff"

// Timer is armed until its event arrives; a guardrail's until the guarded work is over.
type Timer struct {
	Purpose string    `json:"purpose"`
	Due     time.Time `json:"due"` // a guardrail's is postponed when a stopped run resumes
	// Reached is when a guardrail's timer fired, nil before.
	Reached *time.Time `json:"reached,omitempty"`
}

// Guarded reports whether a guardrail's timer is set.
func (s State) Guarded() bool {
	for _, t := range s.Timers {
		if t.Purpose == PurposeGuardrail {
			return true
		}
	}
	return false
}

// Remaining returns the time, at least 0, that the guardrails leave at now for the work at a location; bounded is
// false if there are no guardrails.
func (s State) Remaining(loc event.Location, now time.Time) (least time.Duration, bounded bool) {
	for key, t := range s.Timers {
		_, bound, _, ok := key.Parse()
		if t.Purpose != PurposeGuardrail || !ok || !bound.Holds(loc) {
			continue
		}
		if left := max(0, t.Due.Sub(now)); !bounded || left < least {
			least, bounded = left, true
		}
	}
	return least, bounded
}
