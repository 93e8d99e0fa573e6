package sdk

import (
	"context"
	"encoding/json"
)

// Termination decides after an iteration whether the stage is done. Decide is a pure function of its
// request. It returns the state for the next decision in [Decision.State], which is journaled.
//
// A strategy that cannot decide alone returns a [Question]. The kernel asks a provider and calls
// again with the answer, at most [MaxQuestionRounds] times per decision.
type Termination interface {
	Describe() Component
	Decide(ctx context.Context, req DecideRequest) (Decision, error)
}

// MaxQuestionRounds is the maximum number of questions per decision.
const MaxQuestionRounds = 4

// Releaser is implemented by strategies that hold external resources for a session, such as claimed
// queue items. Release is called when the lock of a dead session is removed, and when an unfinished
// session is removed.
type Releaser interface {
	Release(ctx context.Context, session string) error
}

// DecideRequest is the input of one decision.
type DecideRequest struct {
	Session   string
	Node      string // the node's ID
	Stage     string // the stage's name; may be empty
	Iteration int    // the completed iteration, from 1; 0 before the first
	Max       int    // the stage's maximum number of iterations, 0 for none
	// Config is the node's termination block as JSON, including its type.
	Config json.RawMessage
	// Result is the normalized result.json of the iteration.
	Result json.RawMessage
	// Hint is the agent's request: continue, stop or error; "" before the first iteration.
	Hint string
	// History holds the last 20 decisions of this node, oldest first.
	History []PastDecision
	// Outputs are references to the outputs of all iterations, oldest first.
	Outputs []FileRef
	// Progress refers to the progress file; empty path if there is none.
	Progress FileRef
	// Checks are the results of the node's checks, as JSON objects. Their members are id, at (enter or
	// exit), passed, reason if the check failed, error if nothing could be measured, and facts.
	Checks []json.RawMessage
	// State is the [Decision.State] of the strategy's last decision, empty at first.
	State json.RawMessage
	// Round counts the answered questions of this decision; Answer is the newest answer.
	Round  int
	Answer *Answer
	// WorkDir is the project's absolute path.
	WorkDir string
}

// FileRef names a file of the session.
type FileRef struct {
	Path   string `json:"path"`             // absolute
	SHA256 string `json:"sha256,omitempty"` // lower-case hex
	Size   int64  `json:"size,omitempty"`   // bytes
}

// PastDecision is one earlier decision of the node.
type PastDecision struct {
	Iteration int            `json:"iteration"`
	Hint      string         `json:"hint"`
	Action    DecisionAction `json:"action"`
	Reason    string         `json:"reason,omitempty"`
}

// DecisionAction is a strategy's verdict.
type DecisionAction string

// DecisionContinue: run another iteration. DecisionStop: the stage is done. DecisionError: the
// stage has failed. DecisionAsk: ask [Decision.Question] and decide again with the answer.
const (
	DecisionContinue DecisionAction = "continue"
	DecisionStop     DecisionAction = "stop"
	DecisionError    DecisionAction = "error"
	DecisionAsk      DecisionAction = "ask"
)

// Decision is a strategy's answer.
type Decision struct {
	Action     DecisionAction
	Reason     string
	Confidence float64         // 0 to 1, 0 if the strategy has none
	State      json.RawMessage // passed to the next request
	Question   *Question       // for ask
	// Record is a JSON value that is stored as judge.json of the iteration, for the user. May be
	// empty.
	Record json.RawMessage
}

// Question is a question to a provider, sent with [PurposeQuestion].
type Question struct {
	Prompt   string
	Provider string // "" for the node's own
	Model    string // "" for the provider's default
}

// Answer is a provider's answer to a [Question].
type Answer struct {
	Output string // the provider's text
	Error  string // set if the provider failed; Output then holds its partial text
}
