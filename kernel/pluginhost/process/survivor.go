package process

import (
	"sync"
	"time"
)

// Survivor is a process that outlived its kernel or its plugin process.
type Survivor struct {
	// PID is its process id.
	PID int `json:"pid"`
	// Command is its command line, arguments joined by blanks; "" if it cannot be read.
	Command string `json:"command,omitempty"`
	// Run is the name of the run to which the process belongs.
	Run string `json:"run"`
	// Ended is false if the process still ran after the kill signal.
	Ended bool `json:"ended"`
}

const (
	// killTime is how long a process may take to disappear after SIGKILL.
	killTime = 2 * time.Second
	// pollInterval is the pause between two checks of a process that is ending.
	pollInterval = 10 * time.Millisecond
	// sweepTime bounds the search for processes that are started during a sweep.
	sweepTime = 2 * time.Second
	// emptyScans is the number of successive scans that must find no process after a scan found some.
	emptyScans = 3
)

// Table finds processes by their marks. Concurrent callers share one scan, which begins after all of them have asked.
// A hundred simultaneous sessions do not read the list of processes a hundred times. The zero value is ready. It is
// safe for concurrent use.
type Table struct {
	turn sync.Mutex // held while scanning; locked before mu

	mu   sync.Mutex // guards:
	next *scan      // the scan that has not begun, nil for none
}

// scan is one reading of the list of processes.
type scan struct {
	pids []markedPID
	done chan struct{}
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
		t.next = nil // later callers need another scan
		t.mu.Unlock()
		l.pids = readMarks()
		t.turn.Unlock()
		close(l.done)
	}
	<-l.done
	return l.pids
}
