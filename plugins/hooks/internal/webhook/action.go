package webhook

import (
	"context"
	_ "embed" // the schema of the configuration
	"net/http"
	"os"
	"time"

	"github.com/cenkalti/backoff/v5"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

//go:embed schema.json
var schema []byte

// defaultLimit is how long a webhook may take where the hook does not say.
const defaultLimit = time.Minute

// Action is the hook action webhook. Use [New]. It is safe for concurrent use.
type Action struct {
	lookupEnv  func(name string) (string, bool) // in the environment
	transport  http.RoundTripper
	newBackOff func() backoff.BackOff // between tries
}

// New returns the action. It reads the process's environment, and so the proxies that are set
// there. Connections are not kept: a hook is called seldom, and the other end closes them meanwhile.
func New() *Action {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableKeepAlives = true
	return &Action{
		lookupEnv:  os.LookupEnv,
		transport:  t,
		newBackOff: func() backoff.BackOff { return backoff.NewExponentialBackOff() },
	}
}

// Describe implements [sdk.HookAction].
func (w *Action) Describe() sdk.Component {
	return sdk.Component{
		Name:         "webhook",
		Summary:      "sends what happened to a URL; the response becomes context",
		ConfigSchema: schema,
		Concurrency:  sdk.ConcurrencySafe,
		Capabilities: []string{sdk.CapabilityShared},
		Needs:        &sdk.Needs{Network: true},
	}
}

// Validate implements [sdk.Validator]: the configuration can be read, and the variables that it names
// are set.
func (w *Action) Validate(_ context.Context, req sdk.ValidateRequest) error {
	c, err := readConfig(req.Config)
	if err != nil {
		return err
	}
	_, err = c.resolve(w.lookupEnv)
	return err
}

// Run posts the firing and makes an answer of the response. A response that is none of success, or none
// at all, is a failure of kind hook_failed, one that does not come in time of kind hook_timeout; both
// messages begin with "hook_webhook_failed: ".
//
// All tries of one firing send the same Idempotency-Key, as does the firing when it is made again after
// a crash.
func (w *Action) Run(ctx context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	c, err := readConfig(req.Config)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	target, err := c.resolve(w.lookupEnv)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	m, err := target.message(req)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	body, err := w.send(ctx, m, c.Retries, firing.Limit(req, defaultLimit))
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	answer, err := readResponse(body)
	if err != nil {
		return sdk.HookAnswer{}, m.newFailure(err).
			WithHint("respond with a text, with nothing, or with a JSON object that has context, action or reason; docs/hooks.md has the words")
	}
	return firing.AllowedAnswer(req.Point, answer), nil
}
