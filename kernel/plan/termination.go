package plan

import "strconv"

// Termination is a node's termination block, merged from node and stage: a type and that strategy's
// own settings, as written. It is a map because strategies are plugins with settings of their own.
type Termination map[string]any

// The strategy types with a meaning to more than their own plugin.
const (
	TypeFixed    = "fixed"    // in the kernel: a number of iterations
	TypeChecks   = "checks"   // in the kernel: all exit checks of the node have passed
	TypeJudgment = "judgment" // plugins/judge
	TypeQueue    = "queue"    // plugins/queue
)

// Type is the strategy's name, fixed if none is given.
func (t Termination) Type() string {
	if s, ok := t["type"].(string); ok && s != "" {
		return s
	}
	return TypeFixed
}

// Max is the most iterations that the node may have, 0 for no limit; default 1. The compiler writes it
// down, except for a node whose runs is an object that names no max.
func (t Termination) Max() int {
	if n, ok := t.number("max"); ok {
		return n
	}
	return 1
}

// MinIterations is the number of iterations before the strategy is asked to stop, default 1.
func (t Termination) MinIterations() int {
	if n, ok := t.number("min_iterations"); ok {
		return n
	}
	return 1
}

// Consensus is the number of consecutive stops that end a judged stage, default 2.
func (t Termination) Consensus() int {
	if n, ok := t.number("consensus"); ok {
		return n
	}
	return 2
}

// Bool returns a boolean setting, or def if it is absent or of another type.
func (t Termination) Bool(key string, def bool) bool {
	if b, ok := t[key].(bool); ok {
		return b
	}
	return def
}

func (t Termination) number(key string) (int, bool) {
	switch v := t[key].(type) {
	case int:
		return v, true
	case float64:
		return int(v), true
	case string:
		n, err := strconv.Atoi(v)
		return n, err == nil
	default:
		return 0, false
	}
}
