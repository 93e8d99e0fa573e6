package engine

import (
	"testing"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
)

// U180: what the settings hand to components is as secret as what the environment does; words and names of variables
// are none.
func TestSecretsOfTheSettings(t *testing.T) {
	said := allSettings{}
	said.user.Providers = []settings.Provider{{Name: "a", Config: []byte(
		`{"api_key":"k3y-of-mine","auth":"oauth-device","secret_env":"HMAC_OF_MINE","headers":{"Authorization":"Bearer t0ken-of-mine"},"tokens":["list-1-of-mine"],"password":"${PASS_OF_MINE}","endpoint":"http://h1"}`)}}
	r := (&config{environ: []string{"A_TOKEN=v4lue-of-mine"}}).newRedactor(said)
	got := r.Agent().Text("k3y-of-mine oauth-device HMAC_OF_MINE t0ken-of-mine v4lue-of-mine ${PASS_OF_MINE} http://h1")
	if want := "[REDACTED] oauth-device HMAC_OF_MINE [REDACTED] [REDACTED] ${PASS_OF_MINE} http://h1"; got != want {
		t.Errorf("got %s", got)
	}
}
