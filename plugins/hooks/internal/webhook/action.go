package webhook

import (
	"cmp"
	"context"
	_ "embed" // the schema of the configuration

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

//go:embed schema.json
var schema []byte

// Describe implements [sdk.HookAction].
func (w *Action) Describe() sdk.Component {
	return sdk.Component{
		Name:         "webhook",
		Summary:      "posts the event to a URL; the response becomes context",
		ConfigSchema: schema,
		Capabilities: []string{sdk.CapabilityShared},
		Needs: &sdk.Needs{Network: true, Environment: []string{
			"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_DIR", "SSL_CERT_FILE", "http_proxy", "https_proxy", "no_proxy",
		}},
	}
}

// Validate implements [sdk.Validator]: it requires a valid configuration whose variables are set.
func (w *Action) Validate(_ context.Context, req sdk.ValidateRequest) error {
	c, err := readConfig(req.Config)
	if err != nil {
		return err
	}
	_, _, err = c.resolve(w.lookupEnv)
	return err
}

// Run posts the firing and turns the response into an answer. A missing or unsuccessful response is a failure of kind
// hook_failed, a late response a failure of kind hook_timeout. Both messages begin with "hook_webhook_failed: ".
//
// All attempts of one firing send the same Idempotency-Key, and so does a firing that is repeated after a crash.
func (w *Action) Run(ctx context.Context, req sdk.HookRequest) (sdk.HookAnswer, error) {
	c, err := readConfig(req.Config)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	m, err := w.newMessage(c, req)
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	body, err := w.send(ctx, m, c.Retries, cmp.Or(req.Timeout, defaultLimit))
	if err != nil {
		return sdk.HookAnswer{}, err
	}
	answer, err := readResponse(body)
	if err != nil {
		return sdk.HookAnswer{}, m.newFailure(err).
			WithHint("respond with a text, with nothing, or with a JSON object that has context, action or reason; see docs/hooks.md")
	}
	return firing.AllowedAnswer(req.Point, answer), nil
}
