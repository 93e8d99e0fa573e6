package timeline

import (
	"time"

	"github.com/dodo-digital/agent-pipelines/kernel/event"
)

// Visit is one visit of a node.
type Visit struct {
	Stage     string     `json:"stage"` // the node's id
	Path      string     `json:"path"`
	Visit     int        `json:"visit"`         // from 1, plus 1 for each re-entry of the node
	Run       int        `json:"run,omitempty"` // of the whole pipeline, set from the second run on
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	// DurationMS is the time from the start to the end, or to the last event, without the time in which no kernel held
	// the session.
	DurationMS int64 `json:"duration_ms"`
	End
	Work
	Steps *Steps `json:"steps,omitempty"`
	// Prompt describes the visit's longest prompt, if prompts have a limit.
	Prompt *Prompt `json:"prompt,omitempty"`
	// Checks are the last results of the node's checks, in the order in which they were first made.
	Checks []Check `json:"checks,omitempty"`

	idleTime time.Duration
	steps    map[string]string // status by id
}

// End is the status of a visit, with its outcome and the edge taken.
type End struct {
	Status  string `json:"status"` // running, complete, failed, skipped, or [Restarted]
	Outcome string `json:"outcome,omitempty"`
	// Reason says why the visit ended with this outcome, or why it waits or waited for the user.
	Reason string `json:"reason,omitempty"`
	// To is the id of the node entered next, or done, pause, abort or failed; "" before the visit has ended.
	To string `json:"to,omitempty"`
	// Edge is the name of the counted edge taken, Cycle its count including this return.
	Edge  string `json:"edge,omitempty"`
	Cycle int    `json:"cycle,omitempty"`
	Limit int    `json:"limit,omitempty"`
}

// Prompt holds the number of tokens of a prompt, and its limit.
type Prompt struct {
	Tokens int `json:"tokens"`
	Limit  int `json:"limit"`
}

// longerPrompt returns the longer one of two prompts; nil is none.
func longerPrompt(a, b *Prompt) *Prompt {
	if a == nil || b != nil && b.Tokens > a.Tokens {
		return b
	}
	return a
}

// Restarted is the status of a visit that ended because the node restarted.
const Restarted = "restarted"

// Work counts attempts and their consumption.
type Work struct {
	Iterations      int `json:"iterations"`       // completed; of a node with steps those of the steps, of a parallel block those of all providers
	Attempts        int `json:"attempts"`         // ended, including those of steps
	Retries         int `json:"retries"`          // repeated attempts
	StageRetries    int `json:"stage_retries"`    // restarts of the stage after its last attempt
	ArtifactRetries int `json:"heals"`            // attempts because of an invalid artifact; they do not count as retries
	Cheats          int `json:"cheats,omitempty"` // checks that found a cheat
	// Usage is the consumption that agents and judges reported. UnknownTokens and UnknownCost count the calls that
	// reported none.
	Usage         event.Usage `json:"usage"`
	UnknownTokens int         `json:"unknown_tokens,omitempty"`
	UnknownCost   int         `json:"unknown_cost,omitempty"`
}

// use adds the consumption of an attempt; nil is unknown.
func (w *Work) use(u *event.Usage) {
	if u == nil {
		u = &event.Usage{}
	}
	if u.InputTokens == nil && u.OutputTokens == nil {
		w.UnknownTokens++
	}
	if u.CostUSD == nil {
		w.UnknownCost++
	}
	w.Usage = w.Usage.Plus(u)
}

// plus returns the sum of w and x.
func (w Work) plus(x Work) Work {
	return Work{
		Iterations: w.Iterations + x.Iterations, Attempts: w.Attempts + x.Attempts, Retries: w.Retries + x.Retries,
		StageRetries: w.StageRetries + x.StageRetries, ArtifactRetries: w.ArtifactRetries + x.ArtifactRetries, Cheats: w.Cheats + x.Cheats, Usage: w.Usage.Plus(&x.Usage),
		UnknownTokens: w.UnknownTokens + x.UnknownTokens, UnknownCost: w.UnknownCost + x.UnknownCost,
	}
}

// Tokens returns the number of input and output tokens, nil if unknown.
func (w Work) Tokens() *int64 { return event.Sum(w.Usage.InputTokens, w.Usage.OutputTokens) }

// Steps counts the steps of a node by status.
type Steps struct {
	Count   int `json:"of"`
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
