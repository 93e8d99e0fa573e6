package codex

import (
	"regexp"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/outcome"
)

// classifier maps the errors of Codex to classes and hints, in addition to the errors that all agents share. The events
// have no codes: only the message identifies an error.
var classifier = outcome.Agent{
	Name:       name,
	FinalEvent: "completing its turn",
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
		outcome.Config:    "check args in the configuration of provider codex and ~/.codex/config.toml, or update Codex: " + installCommand,
	},
}

// retryNotice matches errors that Codex retries automatically.
var retryNotice = regexp.MustCompile(`(?i)^reconnecting\b|\bretrying (?:sampling request )?\(?\d+/\d+`)

// pickMessage returns the more informative of two error messages: the newer message, unless it is empty, or a retry
// notice unlike the older message.
func pickMessage(older, newer string) string {
	if newer == "" || older != "" && retryNotice.MatchString(newer) && !retryNotice.MatchString(older) {
		return older
	}
	return newer
}

// isErrorMessage reports whether a line of plain text is an error of Codex itself, not a log of its work.
func isErrorMessage(line string) bool {
	line = strings.ToLower(strings.TrimSpace(line))
	return strings.HasPrefix(line, "error") || strings.HasPrefix(line, "not inside a trusted directory")
}
