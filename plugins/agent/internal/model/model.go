package model

import (
	"context"
	"encoding/json"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/cliagent"
)

// Client sends requests to one model service. It is safe for concurrent use.
type Client interface {
	// Reply requests one reply and returns it when it is complete. text gets the reply's text in pieces as they arrive; an
	// empty piece only shows that the service is alive. Errors are [Failure]s, or the cause of an ended context. Text passed
	// before an error is not part of any reply.
	Reply(ctx context.Context, r Request, text func(string)) (Reply, error)
}

// Request is a request for one reply.
type Request struct {
	Model    string
	System   string
	Messages []Message
	// Tools are the tools that the model may call. Without tools it can only answer in text.
	Tools []Tool
	// MaxTokens limits the reply. Default: the service's limit, or [DefaultMaxTokens] where the API requires a limit.
	MaxTokens int
	// Effort is the reasoning effort in the service's terms. Default: the service's.
	Effort string
}

// DefaultMaxTokens limits a reply where the API requires a limit and the request has none.
const DefaultMaxTokens = 16_000

// Tool is a tool that the model may call. Parameters is a JSON Schema of an object.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// Role is the author of a message.
type Role string

// The roles. A message with role tool has results, and may have text of the user after them.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Results   Role = "tool"
)

// Message is one message of a conversation. Its JSON is part of checkpoints and must not change.
type Message struct {
	Role Role   `json:"role"`
	Text string `json:"text,omitempty"`
	// Thinking has to be sent back with the calls that follow from it.
	Thinking []Thinking `json:"thinking,omitempty"`
	Calls    []Call     `json:"calls,omitempty"`
	Results  []Result   `json:"results,omitempty"`
}

// Thinking is a block of a model's reasoning as the service signed it: text with a signature, or Data alone.
type Thinking struct {
	Text      string `json:"text,omitempty"`
	Signature string `json:"signature,omitempty"`
	Data      string `json:"data,omitempty"`
}

// Call is a tool call that the model requests. ID is unique in the reply.
type Call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Args is a JSON object, {} where the model wrote something else.
	Args json.RawMessage `json:"args,omitempty"`
	// Malformed is the start of the text that the model wrote instead of a JSON object, "" for valid arguments.
	Malformed string `json:"malformed,omitempty"`
}

// Result is the result of one call as the model gets it.
type Result struct {
	CallID string `json:"call_id"`
	Text   string `json:"text"`
	Error  bool   `json:"error,omitempty"`
}

// Stop is the reason for the end of a reply.
type Stop string

// The reasons. End: the model is done, or waits for the results of its calls. Length: a token limit was reached. Refused: the
// model or the service refuses the task.
const (
	StopEnd     Stop = "end"
	StopLength  Stop = "length"
	StopRefused Stop = "refused"
)

// Reply is a complete reply of the model.
type Reply struct {
	Text     string
	Thinking []Thinking
	Calls    []Call
	// Usage counts this reply alone; unreported counts are nil.
	Usage sdk.Usage
	// Model is the service's name of the model that answered, "" if unreported.
	Model string
	Stop  Stop
}

// Message returns the reply as a message of the conversation.
func (r Reply) Message() Message {
	return Message{Role: Assistant, Text: r.Text, Thinking: r.Thinking, Calls: r.Calls}
}

// Add returns the sum of two usages without their costs; a count that is unknown in both stays unknown.
func Add(a, b sdk.Usage) sdk.Usage {
	return sdk.Usage{
		InputTokens: cliagent.AddCounts(a.InputTokens, b.InputTokens), OutputTokens: cliagent.AddCounts(a.OutputTokens, b.OutputTokens),
		CacheReadTokens:  cliagent.AddCounts(a.CacheReadTokens, b.CacheReadTokens),
		CacheWriteTokens: cliagent.AddCounts(a.CacheWriteTokens, b.CacheWriteTokens),
		ReasoningTokens:  cliagent.AddCounts(a.ReasoningTokens, b.ReasoningTokens),
	}
}
