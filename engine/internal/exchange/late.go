package exchange

import (
	"context"
	"slices"
	"sync"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/engine/internal/effect"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// maxLateTools limits the tools that a late delivery names.
const maxLateTools = 20

// phase is the phase of an attempt when a delivery arrives.
type phase int

const (
	inFlight  phase = iota
	abandoned       // the attempt is abandoned, but its provider has not returned yet
	closed          // the provider has returned
)

// lateDeliveries counts the deliveries of an attempt that is abandoned, for [event.LateDelivery]. It is safe for
// concurrent use.
type lateDeliveries struct {
	effect     *effect.Effect
	attemptCtx context.Context //nolint:containedctx // done when the attempt is abandoned; used for nothing else

	mu     sync.Mutex // guards the fields below
	closed bool
	reason string // the kind of failure that ended the attempt before closed, "" for none
	late   []event.LateDeliveryData
}

// phase returns the current phase.
func (l *lateDeliveries) phase() phase {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return closed
	case l.attemptCtx.Err() != nil:
		return abandoned
	default:
		return inFlight
	}
}

// count returns the phase of a delivery, and counts a late one.
func (l *lateDeliveries) count(kind string, bytes int, tool string) phase {
	now := l.phase()
	if now == inFlight {
		return now
	}
	if d := l.add(kind, bytes, tool); now == closed && d.Count == 1 { // close has recorded the deliveries before it
		l.effect.RecordLate(d)
	}
	return now
}

// add counts a delivery of its kind and returns the totals of that kind.
func (l *lateDeliveries) add(kind string, bytes int, tool string) event.LateDeliveryData {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.late, func(d event.LateDeliveryData) bool { return d.Kind == kind })
	if i < 0 {
		i = len(l.late)
		l.late = append(l.late, event.LateDeliveryData{Kind: kind, AbandonReason: l.reason})
	}
	d := &l.late[i]
	d.Count++
	d.Bytes += int64(bytes)
	if tool = event.Truncate(tool, event.MaxName); tool != "" && len(d.Tools) < maxLateTools && !slices.Contains(d.Tools, tool) {
		d.Tools = append(d.Tools, tool)
	}
	return *d
}

// close refuses further deliveries and records the late ones, including a success that the provider returned for an
// abandoned attempt.
func (l *lateDeliveries) close(r sdk.ExecuteResult, err error) {
	if err == nil && (r.Outcome == "" || r.Outcome == sdk.OutcomeSucceeded) {
		l.count(event.LateResult, len(r.Output), "")
	}
	l.mu.Lock()
	late := l.late
	l.late, l.closed = nil, true
	if cause := context.Cause(l.attemptCtx); cause != nil {
		l.reason = string(failure.KindOf(cause))
	}
	l.mu.Unlock()
	for _, d := range late {
		d.AbandonReason = l.reason
		l.effect.RecordLate(d)
	}
}
