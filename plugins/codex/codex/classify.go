package codex

import (
	"regexp"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"
)

// agent is how Codex words its errors and what to do about them, beyond what all agents share. Its
// events have no codes: what an error is can only be read from its message.
var agent = outcome.Agent{
	Name:  name,
	Final: "completing its turn",
	Signs: []outcome.Sign{
		{Class: outcome.Config, Texts: []string{
			"unexpected argument", "error loading config", "not inside a trusted directory", "unknown feature flag",
		}},
		{Class: outcome.Login, Texts: []string{"missing environment variable", "codex login", "access token could not be refreshed"}},
		{Class: outcome.Billing, Texts: []string{"to use codex with your chatgpt plan", "workspace is out of credits"}},
		{Class: outcome.Forbidden, Texts: []string{"access blocked by cloudflare"}},
	},
	Hints: map[outcome.Class]string{
		outcome.Login:     "log in: run codex login, or set OPENAI_API_KEY",
		outcome.Forbidden: "use an account that may do this: run codex login, or set OPENAI_API_KEY",
		outcome.Config:    "check args in the configuration of provider codex and ~/.codex/config.toml, or update Codex: " + install,
	},
}

// notice matches errors that Codex is about to get over: it tries again.
var notice = regexp.MustCompile(`(?i)^reconnecting\b|\bretrying (?:sampling request )?\(?\d+/\d+`)

// graver is the one of two messages of error events that says more: the newer one, unless only the
// older one is final.
func graver(older, newer string) string {
	if newer == "" || older != "" && notice.MatchString(newer) && !notice.MatchString(older) {
		return older
	}
	return newer
}

// isMessage tells Codex's own error messages from the work that it logs between them in text mode.
func isMessage(line string) bool {
	line = strings.ToLower(strings.TrimSpace(line))
	return strings.HasPrefix(line, "error") || strings.HasPrefix(line, "not inside a trusted directory")
}
