package telemetry

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
)

// arrivedFile is the file of a session that says how much of its trace has arrived: a kernel that goes on where another
// was killed reads the journal from its beginning, and sends what that could not send.
const arrivedFile = "telemetry.json"

// arrived counts the spans of a run that the collector has taken, those before the first that it did not. It is safe for
// concurrent use.
type arrived struct {
	mu   sync.Mutex // guards:
	path string
	account
}

type account struct {
	RunID string `json:"run_id"`
	Spans int64  `json:"spans"`
}

// open says how many spans of a run have arrived so far.
func (a *arrived) open(dir, run string) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.path = filepath.Join(dir, arrivedFile)
	var was account
	if text, err := os.ReadFile(a.path); err == nil && json.Unmarshal(text, &was) == nil && was.RunID == run && was.Spans > 0 {
		a.Spans += was.Spans
	}
	a.RunID = run
	return a.Spans
}

// add counts more. A count that cannot be kept makes a later kernel send them once more, at worst.
func (a *arrived) add(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.Spans += int64(n)
	if text, err := json.Marshal(a.account); err == nil && a.path != "" {
		next := a.path + ".new"
		if os.WriteFile(next, append(text, '\n'), 0o600) == nil {
			_ = os.Rename(next, a.path)
		}
	}
}
