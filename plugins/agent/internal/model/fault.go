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

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"
)

// Failure is the reason for a missing reply. [failure.From] finds Err in it.
type Failure struct {
	Outcome sdk.Outcome
	Err     *failure.Error
	// TooLong is true if the request exceeds the model's context.
	TooLong bool
}

// Error returns the message of Err.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns Err for [errors.As].
func (f *Failure) Unwrap() error { return f.Err }

// Transient reports whether the same request may succeed after a short wait.
func (f *Failure) Transient() bool {
	return f.Outcome == sdk.OutcomeRateLimited || f.Outcome == sdk.OutcomeInfrastructure && f.Err.Retryable
}

// classifier turns the errors of one service into failures.
type classifier struct {
	agent       outcome.Agent
	refusedHint string // the hint for a refused connection
}

func newClassifier(base *url.URL) classifier {
	where := cmp.Or(base.Host, base.Path)
	f := classifier{refusedHint: "is a model service running at " + where + "? Start it, or correct base_url"}
	missing := "the service has no such model, or base_url is not its address: see `model` and base_url in the provider's config"
	switch base.Port() {
	case "11434":
		f.refusedHint = "is ollama running? Start it with: ollama serve"
		missing = "get the model with: ollama pull <model>; base_url of ollama ends in /v1"
	case "1234":
		f.refusedHint = "is LM Studio's server running? Start it with: lms server start"
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

// classify returns the failure of a request without an answer. If the context has ended, it returns the context's cause.
func (f classifier) classify(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var ours *failure.Error
	if errors.As(err, &ours) { // from the network policy, or from refuseRedirect
		return &Failure{Outcome: sdk.OutcomeFailed, Err: ours}
	}
	var cert *tls.CertificateVerificationError
	message := err.Error()
	var inURL *url.Error
	if errors.As(err, &inURL) {
		message = inURL.Err.Error()
	}
	failed := f.decide(outcome.Fault{Codes: []string{"connection_error"}, Message: message})
	switch {
	case errors.As(err, &cert):
		failed.Outcome, failed.Err.Retryable = sdk.OutcomeNeedsPerson, false
		failed.Err = failed.Err.WithHint("make the certificate of the service known to this system, or correct base_url")
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOENT):
		failed.Err = failed.Err.WithHint("%s", f.refusedHint)
	}
	failed.Err.Cause = err
	return failed
}

// cut returns the failure of an incomplete reply.
func (f classifier) cut(ctx context.Context) error {
	return f.classify(ctx, errors.New("stream closed before the reply was complete"))
}

// classifyAnswer returns the failure that the service reports: {"error": {"message", "type", "code"}}, {"error": "text"},
// or the inner object alone.
func (f classifier) classifyAnswer(status int, header http.Header, body []byte) error {
	fault := outcome.Fault{Status: status, RetryAfter: outcome.RetryAfter(header, time.Now())}
	if text := strings.TrimSpace(string(body)); !strings.HasPrefix(text, "<") { // "<" begins a page of a proxy
		fault.Message = text
	}
	var envelope struct{ Error json.RawMessage }
	raw := body
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
		fault.Message, fault.Codes = words.Message, []string{code, words.Type}
	}
	fault.Message = cmp.Or(fault.Message, http.StatusText(status))
	return f.decide(fault)
}

func (f classifier) decide(fault outcome.Fault) *Failure {
	now := time.Now()
	o, err := f.agent.Decide(outcome.Evidence{WroteEvents: true, FinalStatus: outcome.Failure, Fault: fault, Now: now})
	return &Failure{Outcome: o, Err: err, TooLong: f.agent.Classify(fault, now).Class == outcome.TooLong}
}
