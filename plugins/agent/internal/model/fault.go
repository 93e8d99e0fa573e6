package model

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"
)

// Failure is why there is no reply. [failure.From] finds Err in it.
type Failure struct {
	Outcome sdk.Outcome
	Err     *failure.Error
	// TooLong: the model takes in less than it was given.
	TooLong bool
}

// Error is the message of Err.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap gives Err to [errors.As].
func (f *Failure) Unwrap() error { return f.Err }

// Transient reports whether the same request may go well a moment later.
func (f *Failure) Transient() bool {
	return f.Outcome == sdk.OutcomeRateLimited || f.Outcome == sdk.OutcomeInfrastructure && f.Err.Retryable
}

// faults puts what goes wrong with one service into the project's words.
type faults struct {
	agent   outcome.Agent
	refused string // what to do when nobody listens there
}

func newFaults(base *url.URL) faults {
	where := cmp.Or(base.Host, base.Path)
	f := faults{refused: "is a model service running at " + where + "? Start it, or correct base_url"}
	missing := "the service has no such model, or base_url is not its address: see `model` and base_url in the provider's config"
	switch base.Port() {
	case "11434":
		f.refused = "is ollama running? Start it with: ollama serve"
		missing = "get the model with: ollama pull <model>; base_url of ollama ends in /v1"
	case "1234":
		f.refused = "is LM Studio's server running? Start it with: lms server start"
	}
	f.agent = outcome.Agent{
		Name: "model service " + where,
		Hints: map[outcome.Class]string{
			outcome.Login:        "put a valid key into the environment variable that api_key_env names, then resume",
			outcome.ModelUnknown: missing,
			outcome.TooLong:      "shorten the prompt, choose a model with a larger context, or raise the context of a local server",
		},
		Signs: []outcome.Sign{
			{Class: outcome.ModelUnknown, Texts: []string{"try pulling it first", "no models loaded"}},
			{Class: outcome.TooLong, Texts: []string{"exceed_context_size", "exceeds the available context size", "exceeds the context length"}},
			{Class: outcome.Config, Texts: []string{"does not support tools"}, Hint: "choose a model that can call tools"},
		},
	}
	return f
}

// of is the failure that an error of an SDK amounts to. That of a context which is over is its cause.
func (f faults) of(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var ours *failure.Error
	if errors.As(err, &ours) { // the mode, or a redirect
		return &Failure{Outcome: sdk.OutcomeFailed, Err: ours}
	}
	var chat *openai.Error
	var messages *anthropic.Error
	var stream *ssestream.StreamError
	switch {
	case errors.As(err, &messages):
		return f.told(messages.StatusCode, messages.Response, messages.RawJSON())
	case errors.As(err, &chat):
		return f.told(chat.StatusCode, chat.Response, chat.RawJSON())
	case errors.As(err, &stream):
		return f.told(0, nil, string(stream.Event.Data))
	default:
		return f.connection(err)
	}
}

// cut is the failure of a reply that breaks off.
func (f faults) cut(ctx context.Context) error {
	return f.of(ctx, errors.New("stream closed before the reply was complete"))
}

// told is the failure that the service speaks of: {"error": {"message", "type", "code"}}, {"error": "text"}, or the error alone.
func (f faults) told(status int, answer *http.Response, body string) error {
	fault := outcome.Fault{Status: status, Message: strings.TrimSpace(body)}
	var envelope struct{ Error json.RawMessage }
	raw := []byte(body)
	if json.Unmarshal(raw, &envelope) == nil && len(envelope.Error) > 0 {
		raw = envelope.Error
	}
	var words struct {
		Message, Type string
		Code          any // a text, or with some servers the status
	}
	var text string
	switch {
	case json.Unmarshal(raw, &text) == nil:
		fault.Message = text
	case json.Unmarshal(raw, &words) == nil && words.Message != "":
		code, _ := words.Code.(string)
		fault.Message, fault.Words = words.Message, []string{code, words.Type}
	}
	fault.Message = cmp.Or(fault.Message, http.StatusText(status))
	if answer != nil {
		fault.RetryAfter = outcome.RetryAfter(answer.Header, time.Now())
	}
	return f.decide(fault)
}

// connection is the failure of a service that cannot be reached, or not any more.
func (f faults) connection(err error) error {
	var cert *tls.CertificateVerificationError
	message := err.Error()
	var of *url.Error
	if errors.As(err, &of) {
		message = of.Err.Error()
	}
	failed := f.decide(outcome.Fault{Words: []string{"connection_error"}, Message: message})
	switch {
	case errors.As(err, &cert):
		failed.Outcome, failed.Err.Retryable = sdk.OutcomeNeedsPerson, false
		failed.Err = failed.Err.WithHint("make the certificate of the service known to this system, or correct base_url")
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		failed.Err = failed.Err.WithHint("%s", f.refused)
	}
	failed.Err.Cause = err
	return failed
}

func (f faults) decide(fault outcome.Fault) *Failure {
	now := time.Now()
	o, err := f.agent.Decide(outcome.Evidence{Spoke: true, LastWord: outcome.Failure, Fault: fault, Now: now})
	return &Failure{Outcome: o, Err: err, TooLong: f.agent.Classify(fault, now).Class == outcome.TooLong}
}
