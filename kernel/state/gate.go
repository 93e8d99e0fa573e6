package state

// Gate is a hook point: how far the calling of its hooks has come. The hooks that apply are called one after
// the other, in the order of their numbers.
type HookCursor struct {
	Point     string `json:"point,omitempty"`
	Iteration int    `json:"iteration,omitempty"` // at the points of iterations
	// Round counts how often the node, or the provider, began again in the same place: after a failure, or what it was given.
	// A hook of an earlier round that is called still does not answer for one of a later round.
	Round int `json:"round,omitempty"`
	// Done is the number of the last hook that has answered or was skipped, Firing that of the one whose
	// action is under way; 0: none.
	Done   int `json:"done,omitempty"`
	Firing int `json:"firing,omitempty"`
}

// Restart is what a hook asked for that wants its stage to begin anew.
type Restart struct {
	Reason string `json:"reason,omitempty"`
	// Granted: a person allowed it beyond the limit.
	Granted bool `json:"granted,omitempty"`
	// Rejected: a person wants it, because of what the visit came to.
	Rejected bool `json:"rejected,omitempty"`
}
