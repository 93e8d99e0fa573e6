package sdk

import (
	"context"
	"encoding/json"
)

// Termination decides after an iteration whether the stage is done. It is a pure question and
// answer: what it needs comes with the request, what it wants to remember goes back in State and is
// journaled. A strategy that cannot decide alone returns a [Question], which the kernel puts to a
// provider and hands back in a second call, at most [MaxQuestionRounds] times for one decision.
type Termination interface {
	Describe() Component
	Decide(ctx context.Context, req DecideRequest) (Decision, error)
}

// MaxQuestionRounds is how many questions one decision may ask.
const MaxQuestionRounds = 4

// Releaser is implemented by strategies that hold something outside for a session (claimed queue
// items, say). Release is called when a session's dead lock is swept.
type Releaser interface {
	Release(ctx context.Context, session string) error
}

// DecideRequest is one decision to be made.
type DecideRequest struct {
	Session   string
	Node      string // the node's id
	Stage     string // the stage's name, may be empty
	Iteration int    // the iteration just completed, from 1; 0 when asked before the first
	Max       int    // the stage's maximum of iterations, 0 for none
	// Config is the node's termination block as JSON, type included.
	Config json.RawMessage
	// Result is the normalized result.json of the iteration.
	Result json.RawMessage
	// Hint is what the agent asked for: continue, stop or error ("" before the first iteration).
	Hint string
	// History holds the last 20 decisions of this node, oldest first.
	History []PastDecision
	// Outputs are references to the outputs of all iterations, oldest first.
	Outputs []FileRef
	// Progress refers to the progress file; empty path if there is none.
	Progress FileRef
	// Checks are the measured results of the node's checks, as JSON objects: id, at (enter or exit), passed, reason where
	// it did not, error where nothing could be measured, and facts, all that the check says.
	Checks []json.RawMessage
	// State is what the strategy returned last, empty at first.
	State json.RawMessage
	// Round counts the questions answered in this decision so far; Answer is the newest answer.
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

// DecisionAction is what a strategy says.
type DecisionAction string

// Continue: another iteration. Stop: the stage is done. Error: the stage has failed. Ask: the
// decision waits for the answer to Question.
const (
	DecisionContinue DecisionAction = "continue"
	DecisionStop     DecisionAction = "stop"
	DecisionError    DecisionAction = "error"
	DecisionAsk      DecisionAction = "ask"
)

// Decision is a strategy's reply.
type Decision struct {
	Action     DecisionAction
	Reason     string
	Confidence float64         // 0 to 1, 0 if the strategy has none
	State      json.RawMessage // kept and handed back with the next request
	Question   *Question       // for ask
	// Record is what should be kept beside the iteration for a reader (judge.json, say). May be empty.
	Record json.RawMessage
}

// Question is put to a provider with purpose question.
type Question struct {
	Prompt   string
	Provider string // "" for the node's own
	Model    string // "" for the provider's default
}

// Answer is what came back.
type Answer struct {
	Output string // the provider's text
	Error  string // set when the provider failed; Output then holds what there is
}
