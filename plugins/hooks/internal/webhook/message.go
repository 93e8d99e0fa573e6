package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Payload is the body of the request. All keys are always present; texts may be empty.
type Payload struct {
	Session   string `json:"session"`
	Node      string `json:"node"`
	Stage     string `json:"stage"`
	Iteration int    `json:"iteration"` // 0 outside iterations
	Provider  string `json:"provider"`
	Point     string `json:"point"`
	Status    string `json:"status"`
	Summary   string `json:"summary"`
	Context   string `json:"context"`
	Message   string `json:"message"` // the hook's message
	Key       string `json:"key"`     // the idempotency key
}

// message is one request, the same for each attempt.
type message struct {
	url    *url.URL
	header http.Header
	body   []byte
}

// userAgent is the User-Agent header for a configuration that sets none.
const userAgent = "agent-pipelines-webhook"

// newMessage returns the request of a firing. The signature covers the body as sent.
func (w *Action) newMessage(c Config, req sdk.HookRequest) (message, error) {
	header, secret, err := c.resolve(w.lookupEnv)
	if err != nil {
		return message{}, err
	}
	body, err := json.Marshal(Payload{
		Session: req.Session, Node: req.Node, Stage: req.Stage, Iteration: req.Iteration, Provider: req.Provider,
		Point: string(req.Point), Status: req.Status, Summary: req.Summary, Context: req.Context, Message: req.Message, Key: req.Key,
	})
	if err != nil {
		return message{}, failure.New(failure.HookFailed, "webhook: write the request: %w", err)
	}
	address, err := url.Parse(c.URL)
	if err != nil {
		return message{}, failure.New(failure.ConfigInvalid, "webhook: url: %w", err)
	}
	if header.Get(headerAgent) == "" {
		header.Set(headerAgent, userAgent)
	}
	header.Set(headerType, "application/json")
	header.Set(headerKey, req.Key)
	if secret != nil {
		header.Set(headerSignature, sign(secret, body))
	}
	return message{url: address, header: header, body: body}, nil
}

// sign returns the signature header: the HMAC with SHA-256 of the body, in hexadecimal digits.
func sign(secret, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// request returns the HTTP request of one attempt.
func (m message) request(ctx context.Context) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url.String(), bytes.NewReader(m.body))
	if err != nil {
		return nil, err
	}
	r.Header = m.header.Clone()
	return r, nil
}

// String returns the address without user, password and query, which may be secret.
func (m message) String() string {
	return m.url.Scheme + "://" + m.url.Host + m.url.EscapedPath()
}

// newFailure returns the failure of a webhook, with the prefix that pipelines compare.
func (m message) newFailure(cause error) *failure.Error {
	return failure.New(failure.HookFailed, failurePrefix+"POST %s: %w", m, cause)
}

// failurePrefix begins each message of a webhook that failed (REQUIREMENTS U245).
const failurePrefix = "hook_webhook_failed: "
