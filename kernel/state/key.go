package state

import (
	"strings"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// HookRoundStep separates the keys of a hook that is called again at the same location.
const HookRoundStep = 10_000

// checkRounds separates the keys of checks that are repeated in a stage retry before an iteration has begun.
const checkRounds = 1000

// Key returns the key of a hook call at the location.
func (c HookCursor) Key(loc event.Location, number int) event.Key {
	return loc.Key(event.KeyHook, c.Round*HookRoundStep+number)
}

// AtPoint returns the cursor, or a new one of the same round if it belongs to another point.
func (c HookCursor) AtPoint(point plan.HookPoint, iteration int) HookCursor {
	if c.Point != string(point) || c.Iteration != iteration {
		return HookCursor{Point: string(point), Iteration: iteration, Round: c.Round}
	}
	return c
}

// Reopen returns the cursor for another round of an end that failed and may come again.
func (c HookCursor) Reopen(point plan.HookPoint) HookCursor {
	if c.Point != string(point) {
		return c
	}
	return HookCursor{Point: c.Point, Iteration: c.Iteration, Round: c.Round + 1}
}

// EndHooksBegun reports whether end hooks have begun to answer or to ask. The outcome then stands, and the run
// continues with the next hook.
func (s State) EndHooksBegun(loc event.Location, c HookCursor) bool {
	if !strings.HasSuffix(c.Point, "_end") || c.Point == string(plan.PointIterationEnd) {
		return false
	}
	loc.Iteration = c.Iteration
	for _, q := range s.Questions {
		if kind, other, n, ok := q.Key.Parse(); ok && kind == event.KeyHook && other == loc && n/HookRoundStep == c.Round {
			return true
		}
	}
	return c.Done > 0
}

// CheckKey returns the key of the check with a number, from 1, at the location.
func (s State) CheckKey(loc event.Location, number int) event.Key {
	if loc.Iteration == 0 {
		number += checkRounds * s.Nodes[loc.Outer()].StageAttempt
	}
	return loc.Key(event.KeyCheck, number)
}

// SettleKey returns the key for settling the loop's latest attempt.
func (l Loop) SettleKey(loc event.Location) event.Key {
	return loc.Key(event.KeySettle, max(l.Attempt, 1))
}

// CutOffKey returns the key of the loop's interrupted attempt.
func (l Loop) CutOffKey(loc event.Location) event.Key { return loc.Key(event.KeyAttempt, l.Attempt) }

// InputKey returns the key for inspecting the node's input artifact.
func (n Node) InputKey(path string) event.Key { return n.Location(path).Key(event.KeyInput, 1) }

// RestartKey returns the key of the question whether the node may restart again.
func (n Node) RestartKey(path string) event.Key { return n.Location(path).Key(event.KeyRestart, 1) }

// EscalationKey returns the key of the question about a node that cannot be left.
func (n Node) EscalationKey(path string) event.Key { return n.Location(path).Key(event.KeyEscalate, 1) }

// DeliverableKey returns the key for settling a node that wraps a pipeline.
func (n Node) DeliverableKey(path string) event.Key { return n.Location(path).Key(event.KeySettle, 1) }
