package plan

import (
	"math"
	"time"
)

// Guardrails bound the running time of a run, or of a visit of a node: the time in which a kernel holds the
// session. Those of a node are the node's own, else its stage's.
type Guardrails struct {
	MaxRuntimeSeconds float64 `json:"max_runtime_seconds"` // more than 0
	At                string  `json:"at,omitempty"`        // where that was said, file:line:column
}

// longest is a running time that nobody lives to see and that can be added to any date of ours.
const maxRuntime = 100 * 365 * 24 * time.Hour

// Limit is the longest running time, at most 100 years.
func (g *Guardrails) Limit() time.Duration {
	return time.Duration(math.Min(g.MaxRuntimeSeconds, maxRuntime.Seconds()) * float64(time.Second))
}
