package model

import (
	"context"
	"encoding/json"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// Client asks one model service. It is safe for concurrent use.
type Client interface {
	// Reply asks for one reply and returns when it is complete. text gets its text in pieces as they come; an empty
	// piece is only a sign of life. Errors are [Failure]s, or the cause of a context that is over; with one, what the
	// model had said until then is no reply.
	Reply(ctx context.Context, r Request, text func(string)) (Reply, error)
}

// Request is everything that the service is told.
type Request struct {
	Model    string
	System   string
	Messages []Message
	// Tools that the model may call; none: it can only answer.
	Tools []Tool
	// MaxTokens limits the reply. 0: the service's own limit, or [DefaultMaxTokens] where the API demands one.
	MaxTokens int
	// Effort is the service's word for how much the model is to think, "" for its default.
	Effort string
}

// DefaultMaxTokens limits a reply where the API demands a limit and nobody gave one.
const DefaultMaxTokens = 16_000

// Tool is one that the model may call. Parameters is a JSON Schema of an object.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// Role says whose message it is.
type Role string

// The roles. A message of role tool has results, and may have text of the user's behind them.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Results   Role = "tool"
)

// Message is one piece of the talk. It is part of a checkpoint, so its JSON stays as it is.
type Message struct {
	Role Role   `json:"role"`
	Text string `json:"text,omitempty"`
	// Thinking is what the service wants back beside the calls that followed from it.
	Thinking []Thinking `json:"thinking,omitempty"`
	Calls    []Call     `json:"calls,omitempty"`
	Results  []Result   `json:"results,omitempty"`
}

// Thinking is a block of a model's thoughts, as the service signed it: readable with a signature, or only Data.
type Thinking struct {
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	Data      string `json:"data,omitempty"`
}

// Call is a tool call that the model asks for. ID is unique in the reply.
type Call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Args is a JSON object, {} where the model wrote something else.
	Args json.RawMessage `json:"args,omitempty"`
	// Malformed is what the model wrote in place of a JSON object, cut; "" for arguments that are one.
	Malformed string `json:"malformed,omitempty"`
}

// Result is what the model is told of one call.
type Result struct {
	CallID string `json:"call_id"`
	Text   string `json:"text"`
	Error  bool   `json:"error,omitempty"`
}

// Stop says why a reply ended.
type Stop string

// The reasons. End: the model is done. Calls: it waits for results. Length: it was cut at a limit of tokens. Refused:
// it, or the service, does not want to.
const (
	StopEnd     Stop = "end"
	StopCalls   Stop = "calls"
	StopLength  Stop = "length"
	StopRefused Stop = "refused"
)

// Reply is what the model said.
type Reply struct {
	Text     string
	Thinking []Thinking
	Calls    []Call
	// Usage is of this reply alone; what the service does not tell is nil.
	Usage sdk.Usage
	// Model is the name by which the service calls what answered, "" if it does not say.
	Model string
	Stop  Stop
}

// Message is the reply as a part of the talk.
func (r Reply) Message() Message {
	return Message{Role: Assistant, Text: r.Text, Thinking: r.Thinking, Calls: r.Calls}
}
