package metrics

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
)

// Visit is one visit of a node.
type Visit struct {
	Stage     string     `json:"stage"` // the node's id
	Path      string     `json:"path"`
	Visit     int        `json:"visit"`         // from 1; re-entries of the node count it up
	Run       int        `json:"run,omitempty"` // of the whole pipeline, from the second one on
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	// DurationMS is the time from its start to its end, or to the last event, without the time in which nobody held
	// the session.
	DurationMS int64  `json:"duration_ms"`
	Status     string `json:"status"` // running, complete, failed, skipped, or [Restarted]
	Outcome    string `json:"outcome,omitempty"`
	// Reason is why it ended so; of one that waits for a person, or was entered anew after that, why one was needed.
	Reason string `json:"reason,omitempty"`
	// To is the id of the node entered next, or done, pause, abort or failed; "" before the visit has ended.
	To string `json:"to,omitempty"`
	// Edge is the name of the counted edge that was taken back, Cycle its count with this return.
	Edge  string `json:"edge,omitempty"`
	Cycle int    `json:"cycle,omitempty"`
	Limit int    `json:"limit,omitempty"`
	Work
	Steps *Steps `json:"steps,omitempty"`
	// Prompt is how long its longest prompt was, where prompts have a limit.
	Prompt *Prompt `json:"prompt,omitempty"`
	// Checks are the last results of the node's checks, in the order in which they were first made.
	Checks []Check `json:"checks,omitempty"`

	idle  time.Duration
	steps map[string]string // status by id
}

// Prompt is how many tokens a prompt has, and how many it may have.
type Prompt struct {
	Tokens int `json:"tokens"`
	Limit  int `json:"limit"`
}

// longer is the longer one of two, of which nil is none.
func longer(a, b *Prompt) *Prompt {
	if a == nil || b != nil && b.Tokens > a.Tokens {
		return b
	}
	return a
}

// Restarted is the status of a visit that ended because the node was entered anew.
const Restarted = "restarted"

// Work is what was done and consumed.
type Work struct {
	Iterations   int `json:"iterations"`    // completed; those of its steps where a node has steps, of a parallel block by all its providers together
	Attempts     int `json:"attempts"`      // that ended, those of steps too
	Retries      int `json:"retries"`       // attempts that were made again
	StageRetries int `json:"stage_retries"` // times that the stage began anew after its attempts were used up
	Heals        int `json:"heals"`         // attempts that were made because of a bad artifact, which are no retries
	// Usage is what agents and judges said that they used. UnknownTokens and UnknownCost count the calls that did not
	// say.
	Usage         event.Usage `json:"usage"`
	UnknownTokens int         `json:"unknown_tokens,omitempty"`
	UnknownCost   int         `json:"unknown_cost,omitempty"`
}

// Steps says how far the steps of a node have got.
type Steps struct {
	Of      int `json:"of"`
	Done    int `json:"done"` // complete or skipped
	Failed  int `json:"failed,omitempty"`
	Blocked int `json:"blocked,omitempty"`
}

// Check is the last result of a check.
type Check struct {
	ID     string         `json:"id"`
	At     string         `json:"at"` // enter or exit
	Passed bool           `json:"passed"`
	Reason string         `json:"reason,omitempty"`
	Counts map[string]int `json:"counts,omitempty"`
}

// Collector holds the metrics of a session's newest run. It is not safe for concurrent use.
type Collector struct {
	plan   *plan.Plan
	visits []*Visit
	last   map[string]*Visit // by path
	count  map[string]int    // visits in this run of the pipeline, by path
	begin  time.Time
	seen   time.Time // of the last event
	idle   time.Duration
	epoch  int
	cycles cycles
	begun  map[event.Location]begun // by loop
}

// begun are the attempts of the iteration that a loop is at which have begun.
type begun struct {
	iteration int
	attempts  map[event.Key]bool
}

// begins takes up that an attempt has begun.
func (a *Collector) begins(key event.Key) {
	_, at, _, _ := key.Parse()
	loop := at
	loop.Iteration = 0
	b := a.begun[loop]
	if b.attempts == nil || b.iteration != at.Iteration {
		b = begun{at.Iteration, map[event.Key]bool{}}
		a.begun[loop] = b
	}
	b.attempts[key] = true
}

// hasBegun reports whether an attempt of the iteration that its loop is at has begun.
func (a *Collector) hasBegun(key event.Key) bool {
	_, at, _, _ := key.Parse()
	at.Iteration = 0
	return a.begun[at].attempts[key]
}

// New returns the account of a session that follows a plan, before its first event.
func New(p *plan.Plan) *Collector {
	a := &Collector{plan: p}
	a.reset()
	return a
}

// Apply adds the next event. Unreadable events, and those of a fenced kernel, do not count.
func (a *Collector) Apply(e event.Event) {
	if e.Epoch != 0 && e.Epoch < a.epoch {
		return
	}
	a.epoch = max(a.epoch, e.Epoch)
	if e.Type == event.SessionStart {
		*a = Collector{plan: a.plan, begin: e.Time, epoch: e.Epoch}
		a.reset()
	}
	if e.Type == event.KernelStart && !a.seen.IsZero() {
		a.pause(e.Time.Sub(a.seen))
	}
	a.take(e)
	a.seen = e.Time
}

func (a *Collector) reset() {
	a.last, a.count, a.cycles, a.begun = map[string]*Visit{}, map[string]int{}, cycles{}, map[event.Location]begun{}
}

// Visits are copies of all visits of all nodes, in the order in which they began.
func (a *Collector) Visits() []Visit {
	all := make([]Visit, 0, len(a.visits))
	for _, v := range a.visits {
		all = append(all, a.told(v))
	}
	return all
}

// Last is a copy of the newest visit of the node at a path.
func (a *Collector) Last(path string) (Visit, bool) {
	v, ok := a.last[path]
	if !ok {
		return Visit{}, false
	}
	return a.told(v), true
}

// told is a visit with what is worked out at the end.
func (a *Collector) told(v *Visit) Visit {
	c := *v
	end := a.seen
	if c.EndedAt != nil {
		end = *c.EndedAt
	}
	c.DurationMS = max(0, (end.Sub(c.StartedAt) - c.idle).Milliseconds())
	return c
}

// pause takes time in which nobody held the session off the visits under way.
func (a *Collector) pause(d time.Duration) {
	a.idle += max(d, 0)
	for _, v := range a.visits {
		if v.EndedAt == nil {
			v.idle += max(d, 0)
		}
	}
}
