package codex

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// class is a kind of error that the agent reports, and what follows from it.
type class struct {
	outcome   sdk.Outcome
	kind      failure.Kind
	retryable bool
	hint      string
}

// failure is the class's failure with the agent's own words.
func (c class) failure(message, detail string) *failure.Error {
	f := &failure.Error{Kind: c.kind, Message: "codex: " + message, Hint: c.hint, Retryable: c.retryable, Detail: detail}
	if c.outcome == sdk.OutcomeRateLimited {
		f.RetryAfterSeconds = retryAfter(message)
	}
	return f
}

var (
	login = class{
		sdk.OutcomeNeedsPerson, failure.ProviderFailed, false,
		"log in: run codex login, or set OPENAI_API_KEY",
	}
	billing = class{
		sdk.OutcomeNeedsPerson, failure.ProviderFailed, false,
		"see to the plan and billing of the account that codex uses, then resume",
	}
	limited = class{sdk.OutcomeRateLimited, failure.ProviderFailed, true, "wait until the limit is lifted, then resume"}
	service = class{
		sdk.OutcomeInfrastructure, failure.ProviderFailed, true,
		"check the network and the state of the service, then resume",
	}
	noModel = class{
		sdk.OutcomeFailed, failure.ProviderFailed, false,
		"choose a model that the account may use",
	}
	refused  = class{sdk.OutcomeFailed, failure.ProviderFailed, false, "the service does not take this request; see the message"}
	tooLong  = class{sdk.OutcomeFailed, failure.ProviderFailed, false, "give the agent less to read at once"}
	failed   = class{sdk.OutcomeFailed, failure.ProviderFailed, true, ""}
	badFlags = class{
		sdk.OutcomeFailed, failure.ConfigInvalid, false,
		"check args in the configuration of provider codex and ~/.codex/config.toml, or update Codex: " + install,
	}
)

// signs are words by which a message is known, the surest first. Codex gives no codes.
var signs = []struct {
	class
	words []string
}{
	{badFlags, []string{"unexpected argument", "error loading config", "not inside a trusted directory", "unknown feature flag"}},
	{tooLong, []string{"context window"}},
	{billing, []string{"quota exceeded", "insufficient_quota"}},
	{limited, []string{"usage limit", "rate limit", "too many requests"}},
	{login, []string{"missing environment variable", "not logged in", "codex login", "unauthorized", "incorrect api key", "token has expired"}},
	{noModel, []string{"does not exist or you do not have access", "model is not supported", "model_not_found"}},
	{service, []string{
		"at capacity", "high demand", "overloaded", "stream disconnected", "connection failed", "connection refused",
		"connection reset", "error sending request", "waiting for network", "timed out", "stream closed",
	}},
}

var (
	statusIn = regexp.MustCompile(`(?i)\bstatus:? (\d{3})\b`)
	tryAgain = regexp.MustCompile(`(?i)try again in (\d+(?:\.\d+)?) ?s`)
)

// byText classes a message about a failure.
func byText(message string) (class, bool) {
	text := strings.ToLower(message)
	for _, sign := range signs {
		for _, words := range sign.words {
			if strings.Contains(text, words) {
				return sign.class, true
			}
		}
	}
	if m := statusIn.FindStringSubmatch(message); m != nil {
		status, _ := strconv.Atoi(m[1])
		return byStatus(status)
	}
	return class{}, false
}

// byStatus classes the HTTP status of the API.
func byStatus(status int) (class, bool) {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return login, true
	case status == http.StatusPaymentRequired:
		return billing, true
	case status == http.StatusNotFound:
		return noModel, true
	case status == http.StatusTooManyRequests:
		return limited, true
	case status == http.StatusRequestTimeout || status >= 500:
		return service, true
	case status >= 400:
		return refused, true
	}
	return class{}, false
}

// retryAfter reads how many seconds the service asks to wait, 0 if it does not say.
func retryAfter(message string) float64 {
	m := tryAgain.FindStringSubmatch(message)
	if m == nil {
		return 0
	}
	seconds, _ := strconv.ParseFloat(m[1], 64)
	return seconds
}
