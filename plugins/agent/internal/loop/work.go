package loop

import (
	"context"
	"encoding/json"
	"time"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// Work is one attempt and what it is done with.
type Work struct {
	Request  sdk.ExecuteRequest
	Exchange sdk.Exchange
	Client   model.Client
	Tools    Tools
	// Redactor takes secrets out of checkpoints, of the strength for texts of agents.
	Redactor *redact.Redactor
	// Model, Effort and MaxTokens (of one reply, 0 for the service's limit) go to the service.
	Model     string
	Effort    string
	MaxTokens int
	// System is added to the loop's own system prompt.
	System string
	// MaxTurns is how many replies the attempt may take where the request does not say; at least 1.
	MaxTurns int
	// Retries is how often a request is made again that failed for a moment.
	Retries int
	// Idle is the longest silence of the service. 0: any.
	Idle time.Duration
	// Price turns tokens into dollars. Nil: nobody knows.
	Price func(sdk.Usage) *float64
}

// Tools are what the model may use, beside what the loop adds to them. They are safe for concurrent use.
type Tools interface {
	Definitions() []model.Tool
	// Prepare looks at what a model asks for, and changes nothing. What is not to be made is refused. A call that a crash
	// cut off is asked for again: what it had done by then is no error.
	Prepare(name string, args json.RawMessage, again bool) (Prepared, *Refusal)
	// Keep says by the keys of earlier reads which of them the model still sees in full.
	Keep(keys []string)
}

// Prepared is a call that may be made once the kernel allows it.
type Prepared struct {
	// Call is complete but for CallID and Turn.
	Call sdk.ToolCall
	// Run makes it, and looks again at whether it may.
	Run func(context.Context) Done
}

// Refusal is why a call is not made. Status is denied for what is forbidden, error for what is wrong.
type Refusal struct {
	Status  sdk.ToolStatus
	Code    string
	Message string
}

// Done is the end of a call that was made: a JSON value for the model and the journal, without secrets, cut to its limit.
type Done struct {
	Status  sdk.ToolStatus
	Data    json.RawMessage
	Changed []string // files, relative to the workspace
	Key     string   // of what was read, for Keep; "" for all else
}

// Codes of what goes wrong with a call (REQUIREMENTS U186).
const (
	codeOutside = "ACODE-EXEC-004"
	codeDenied  = "ACODE-EXEC-005"
	codeArgs    = "ACODE-EXEC-007"
)

// Run works until the attempt is over. The result holds what is known also where there is an error, which is then the
// cause of a context that is over, or one of the exchange.
func Run(ctx context.Context, w Work) (sdk.ExecuteResult, error) {
	begun := time.Now()
	l, err := begin(w)
	if err != nil {
		return sdk.ExecuteResult{Outcome: sdk.OutcomeFailed}, err
	}
	result, err := l.run(ctx)
	result.Duration = time.Since(begun)
	result.Model = l.talk.Model
	if l.talk.Asked {
		u := l.usage()
		result.Usage = &u
	}
	return result, err
}

// Answer puts the request's prompt to the model and returns its one reply, without tools.
func Answer(ctx context.Context, w Work) (sdk.ExecuteResult, error) {
	begun := time.Now()
	l := &loop{Work: w, talk: fresh()}
	reply, err := l.reply(ctx, model.Request{
		Model: w.Model, Effort: w.Effort, MaxTokens: w.MaxTokens, System: w.System,
		Messages: []model.Message{{Role: model.User, Text: w.Request.Prompt}},
	})
	result := sdk.ExecuteResult{Output: reply.Text, Outcome: sdk.OutcomeSucceeded}
	if err != nil {
		result, err = failed(err)
	} else if reply.Stop == model.StopRefused {
		result, err = failed(declined(reply))
	}
	result.Duration, result.Model = time.Since(begun), l.talk.Model
	if l.talk.Asked {
		u := l.usage()
		result.Usage = &u
	}
	return result, err
}
