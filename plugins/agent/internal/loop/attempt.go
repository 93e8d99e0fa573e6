package loop

import (
	"context"
	"encoding/json"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// Attempt is one attempt with its means.
type Attempt struct {
	Request  sdk.ExecuteRequest
	Exchange sdk.Exchange
	Client   model.Client
	Tools    Tools
	// Redactor removes secrets from checkpoints, at the strength for agents' texts.
	Redactor *redact.Redactor
	// Model, Effort and MaxTokens (of one reply, 0 for the service's limit) are parameters of the service.
	Model     string
	Effort    string
	MaxTokens int
	// System is appended to the loop's system prompt.
	System string
	// MaxTurns limits the replies of the attempt if the request does not; at least 1.
	MaxTurns int
	// Retries limits the repeats of a request after temporary failures.
	Retries int
	// IdleTimeout limits the silence of the service. 0: no limit.
	IdleTimeout time.Duration
	// Price returns the price of a usage in US dollars. Nil: prices are unknown.
	Price func(sdk.Usage) *float64
}

// Tools are the tools of the model, besides the loop's own. They are safe for concurrent use.
type Tools interface {
	Definitions() []model.Tool
	// Prepare checks a call without effects and may refuse it. With again, a crash interrupted the call: effects that the
	// call already had are not errors.
	Prepare(name string, args json.RawMessage, again bool) (PreparedCall, *Refusal)
	// Keep sets the keys of earlier reads whose full result the model still has.
	Keep(keys []string)
}

// PreparedCall is a checked call that may be made once the kernel allows it.
type PreparedCall struct {
	// Call is complete except for CallID and Turn.
	Call sdk.ToolCall
	// Run makes the call, and repeats the checks that may have a new answer.
	Run func(context.Context) CallResult
}

// Refusal is the reason why a call is not made. Status is denied for a forbidden call, error for a faulty one.
type Refusal struct {
	Status  sdk.ToolStatus
	Code    string
	Message string
}

// CallResult is the result of a call: a JSON value for the model and the journal, without secrets, cut to its limit.
type CallResult struct {
	Status  sdk.ToolStatus
	Data    json.RawMessage
	Changed []string // files, relative to the workspace
	Key     string   // of the content of a read, for Keep; "" otherwise
}
