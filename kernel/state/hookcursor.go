package state

import (
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Hooks is the state of the hooks of a scope: the session, a provider of a block, or a loop.
type Hooks struct {
	// HookCursor is the cursor of the scope's current or last hook point.
	HookCursor HookCursor `json:"gate,omitzero"`
	// Injected are texts of hooks for prompts of the scope.
	Injected []event.Ref `json:"injected,omitempty"`
}

// HookCursor is the progress through the hooks of a hook point. The hooks that apply are called one after the other,
// by number.
type HookCursor struct {
	Point     string `json:"point,omitempty"`
	Iteration int    `json:"iteration,omitempty"` // at the points of iterations
	// Round counts how often the node or the provider started again at the same location, after a failure or with other
	// input. The answer to a hook call of an earlier round does not count in a later round.
	Round int `json:"round,omitempty"`
	// Done is the number of the last hook that has answered or was skipped, Firing the number of the hook being
	// called; 0 means none.
	Done   int `json:"done,omitempty"`
	Firing int `json:"firing,omitempty"`
}

// HookRoundStep is the distance between the numbers in the keys of a hook that is called again in the next round.
const HookRoundStep = 10_000

// Key returns the key of the call of a hook, by its number, at the location in the cursor's round.
func (c HookCursor) Key(loc event.Location, number int) event.Key {
	return loc.Key(event.KeyHook, c.Round*HookRoundStep+number)
}

// AtPoint returns the cursor, or a new cursor of the same round if c belongs to another point or iteration.
func (c HookCursor) AtPoint(point plan.HookPoint, iteration int) HookCursor {
	if c.Point != string(point) || c.Iteration != iteration {
		return HookCursor{Point: string(point), Iteration: iteration, Round: c.Round}
	}
	return c
}

// Reopen returns the cursor for the next round at an end point that failed work will reach again. It does not change a
// cursor at another point.
func (c HookCursor) Reopen(point plan.HookPoint) HookCursor {
	if c.Point != string(point) {
		return c
	}
	return HookCursor{Point: c.Point, Iteration: c.Iteration, Round: c.Round + 1}
}

// Effect is an effect in flight as far as the state shows it. The state does not show calls of a strategy.
type Effect struct {
	Key      event.Key
	Location event.Location
}

// firingCall returns the hook that is being called at the cursor, if any. The cursor's iteration replaces the
// iteration of the location.
func (c HookCursor) firingCall(loc event.Location) []Effect {
	if c.Firing == 0 {
		return nil
	}
	loc.Iteration = c.Iteration
	return []Effect{{c.Key(loc, c.Firing), loc}}
}
