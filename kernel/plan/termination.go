package plan

import "strconv"

// Termination is a node's termination block, merged from node and stage: a type and that strategy's own settings, as
// written. It is a map because strategies are plugins with their own settings.
type Termination map[string]any

// The strategy types that the kernel or several plugins know.
const (
	TypeFixed    = "fixed"    // in the kernel: ends after a number of iterations
	TypeChecks   = "checks"   // in the kernel: ends when all exit checks of the node pass
	TypeJudgment = "judgment" // plugins/judge
	TypeQueue    = "queue"    // plugins/queue
)

// Type returns the strategy's name, default fixed.
func (t Termination) Type() string {
	if s, ok := t["type"].(string); ok && s != "" {
		return s
	}
	return TypeFixed
}

// Max returns the maximum number of iterations of the node, 0 for no limit; default 1. The compiler sets the
// maximum unless runs is a map without max, or text that is not a number.
func (t Termination) Max() int {
	if n, ok := t.number("max"); ok {
		return n
	}
	return 1
}

// MinIterations returns the number of iterations before the first judgment, default 1.
func (t Termination) MinIterations() int {
	if n, ok := t.number("min_iterations"); ok {
		return n
	}
	return 1
}

// Consensus returns the number of consecutive judgments to stop that end a stage, default 2.
func (t Termination) Consensus() int {
	if n, ok := t.number("consensus"); ok {
		return n
	}
	return 2
}

// CheckBefore reports whether the strategy is asked before the first iteration, too.
func (t Termination) CheckBefore() bool {
	before, _ := t["check_before"].(bool)
	return before
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
