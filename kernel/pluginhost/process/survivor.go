package process

import (
	"context"
	"sync"
	"time"
)

// Survivor is a process that a dead kernel, or a plugin process that ended, left behind.
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
	// pollInterval is the pause between two looks at a process that is ending.
	pollInterval = 10 * time.Millisecond
	// sweepTime bounds the search for what processes started while they were being ended.
	sweepTime = 2 * time.Second
	// emptyScans is how often in a row nothing may be seen where something was, before it counts as nothing.
	emptyScans = 3
)

// Table finds processes by their marks. Those who look at the same time share one look, which begins after all of them have
// asked, so that a hundred sessions that begin together do not read the list of processes a hundred times. The zero
// value is ready. It is safe for concurrent use.
type Table struct {
	turn sync.Mutex // held while looking; taken before mu

	mu   sync.Mutex // guards:
	next *scan      // the one that has not begun, nil for none
}

// scan is one reading of the list of processes.
type scan struct {
	found []markedPID
	done  chan struct{}
}

// scan reads the list, or shares a reading that has not begun.
func (t *Table) scan() []markedPID {
	t.mu.Lock()
	l, mine := t.next, false
	if l == nil {
		l, mine = &scan{done: make(chan struct{})}, true
		t.next = l
	}
	t.mu.Unlock()
	if mine {
		t.turn.Lock()
		t.mu.Lock()
		t.next = nil // whoever asks from now on is too late for it
		t.mu.Unlock()
		l.found = readMarks()
		t.turn.Unlock()
		close(l.done)
	}
	<-l.done
	return l.found
}

// Sweep finds the processes of this user that carry the marker of a run whose name begins with
// one of prefixes and whose kernel is dead, and those that have cleared their environment and carry the seal of one of kernels that is
// dead, asks them to end (SIGTERM), ends them after grace (SIGKILL), and
// returns what it found, ordered by process id. Processes of living kernels, of other users, of other
// PID namespaces, this process and its ancestors are never touched. Where the system cannot search
// (see [Limits]) nothing is found. The error is ctx's when it was cancelled, with what was found so far.
func (t *Table) Sweep(ctx context.Context, prefixes []string, grace time.Duration, kernels ...Marker) ([]Survivor, error) {
	return t.sweep(ctx, prefixes, kernels, grace)
}

// Sweep is [Table.Sweep] for a single prefix, with a look of its own.
func Sweep(ctx context.Context, prefix string, grace time.Duration, kernels ...Marker) ([]Survivor, error) {
	return new(Table).Sweep(ctx, []string{prefix}, grace, kernels...)
}
