package plan

import "encoding/json"

// Policy holds limits and safety settings of a pipeline or a node; a node's own win field by field.
// Zero values mean "not said". Durations are seconds.
type Policy struct {
	Mode         string          `json:"mode,omitempty"` // open, burst, local-only, airgapped
	Timeout      float64         `json:"timeout,omitempty"`
	StageTimeout float64         `json:"stage_timeout,omitempty"`
	IdleTimeout  float64         `json:"idle_timeout,omitempty"`
	Retry        *Retry          `json:"retry,omitempty"`
	Recovery     Recovery        `json:"recovery,omitempty"`
	Required     bool            `json:"required,omitempty"`
	Env          json.RawMessage `json:"env,omitempty"` // "inherit", "minimal" or a list of names
	Context      string          `json:"context,omitempty"`
	Cycles       *Cycles         `json:"cycles,omitempty"`
	Budget       *Budget         `json:"budget,omitempty"`
	Escalation   *Escalation     `json:"escalation,omitempty"`
	Sandbox      json.RawMessage `json:"sandbox,omitempty"`
	Rest         json.RawMessage `json:"rest,omitempty"` // cost, feedback, approvals, tools, secrets as written
}

// Retry says how often an attempt is made again. Backoff are the pauses in seconds before the
// second, third, … attempt; the last one repeats.
type Retry struct {
	Attempts int       `json:"attempts,omitempty"` // attempts in all for a plain node, default 2
	Step     int       `json:"step,omitempty"`     // retries of a step, default 3
	Stage    int       `json:"stage,omitempty"`    // stage retries, default 2
	Backoff  []float64 `json:"backoff,omitempty"`
}

// Recovery says what becomes of an attempt that a crash cut off.
type Recovery string

// Rerun makes the attempt again, Ask puts a question to a person, Fail fails the node.
const (
	RecoveryRerun Recovery = "rerun"
	RecoveryAsk   Recovery = "ask"
	RecoveryFail  Recovery = "fail"
)

// Cycles bound how often back edges may be taken.
type Cycles struct {
	Default   int `json:"default,omitempty"`   // for each edge, default 3
	Max       int `json:"max,omitempty"`       // the most an edge may ask for, at most 10
	Session   int `json:"session,omitempty"`   // for the whole run, default 30
	Identical int `json:"identical,omitempty"` // equal outputs in a row that count as the limit, default 2
}

// Budget bounds tokens; shares are percent of the total by node id.
type Budget struct {
	Total  json.RawMessage `json:"total,omitempty"` // a number, or "model"
	Shares map[string]int  `json:"shares,omitempty"`
}

// Escalation says what happens when a person is needed.
type Escalation struct {
	OnLimit   string  `json:"on_limit,omitempty"` // pause, failed, abort
	Wait      bool    `json:"wait,omitempty"`
	Timeout   float64 `json:"timeout,omitempty"`
	Poll      float64 `json:"poll,omitempty"`
	OnTimeout string  `json:"on_timeout,omitempty"`
}
