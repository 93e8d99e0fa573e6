package process

import (
	"context"
	"time"
)

// Survivor is a process that a dead kernel left behind.
type Survivor struct {
	// PID is its process id.
	PID int `json:"pid"`
	// Command is its command line, arguments joined by blanks; "" if it cannot be read.
	Command string `json:"command,omitempty"`
	// Run is the run that it belonged to.
	Run string `json:"run"`
	// Ended is false when it was still there after the kill signal.
	Ended bool `json:"ended"`
}

const (
	// killTime is how long a process may take to disappear after SIGKILL.
	killTime = 2 * time.Second
	// lookTime is the pause between two looks at a process that is ending.
	lookTime = 10 * time.Millisecond
	// sweepRounds bounds the search for what processes started while they were being ended.
	sweepRounds = 5
)

// Sweep finds the processes of this user that carry the marker of a run whose name begins with
// prefix and whose kernel is dead, asks them to end (SIGTERM), ends them after grace (SIGKILL), and
// returns what it found, ordered by process id. Processes of living kernels, of other users, of other
// PID namespaces, this process and its ancestors are never touched. Where the system cannot search
// (see [Limits]) nothing is found. The error is ctx's when it was cancelled, with what was found so far.
func Sweep(ctx context.Context, prefix string, grace time.Duration) ([]Survivor, error) {
	return sweep(ctx, prefix, grace)
}
