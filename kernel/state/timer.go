package state

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// PurposeGuardrail is what a timer is for that bounds the running time of the run, a node, an embedded
// pipeline, or a provider's stage in a block.
const PurposeGuardrail = "guardrail"

// PurposeEscalation is what a timer is for by which an escalation is to be answered. Its key is that of the question, and
// it lives as long as that.
const PurposeEscalation = "escalation"

// Timer is armed until its event comes, a guardrail's until what it bounds is over.
type Timer struct {
	Purpose string    `json:"purpose"`
	Due     time.Time `json:"due"` // a guardrail's is moved on when the run goes on after a rest
	// Reached is when a guardrail's timer ran out, nil before.
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

// Remaining is the time that the guardrails leave for the work at a place that runs at now, not less than
// none; false if there are no guardrails.
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
