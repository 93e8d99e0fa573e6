package claude

import (
	"net/http"
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
	return &failure.Error{Kind: c.kind, Message: "claude: " + message, Hint: c.hint, Retryable: c.retryable, Detail: detail}
}

var (
	login = class{
		sdk.OutcomeNeedsPerson, failure.ProviderFailed, false,
		"log in: run claude and type /login, or set ANTHROPIC_API_KEY",
	}
	billing = class{
		sdk.OutcomeNeedsPerson, failure.ProviderFailed, false,
		"see to the billing of the account that claude uses, then resume",
	}
	limited = class{sdk.OutcomeRateLimited, failure.ProviderFailed, true, "wait until the limit is lifted, then resume"}
	service = class{
		sdk.OutcomeInfrastructure, failure.ProviderFailed, true,
		"check the network and the state of the service, then resume",
	}
	noModel = class{
		sdk.OutcomeFailed, failure.ProviderFailed, false,
		"check the model's name: opus, sonnet, haiku, or the full name of one that the account may use",
	}
	refused = class{sdk.OutcomeFailed, failure.ProviderFailed, false, "the service does not take this request; see the message"}
	tooLong = class{sdk.OutcomeFailed, failure.ProviderFailed, false, "give the agent less to read at once"}
	failed  = class{sdk.OutcomeFailed, failure.ProviderFailed, true, ""}
	isRoot  = class{
		sdk.OutcomeNeedsPerson, failure.ConfigInvalid, false,
		"Claude Code does not let root skip permissions: run as another user, or, only where the process is contained " +
			"(a container, a virtual machine), set is_sandbox: true in the configuration of provider claude or IS_SANDBOX=1",
	}
	badFlags = class{
		sdk.OutcomeFailed, failure.ConfigInvalid, false,
		"check args in the configuration of provider claude, or update Claude Code: " + install,
	}
	tooManyTurns = class{
		sdk.OutcomeFailed, failure.ProviderFailed, false,
		"raise max_turns in the configuration of provider claude, or give it less to do",
	}
	tooExpensive = class{
		sdk.OutcomeFailed, failure.BudgetExceeded, false,
		"raise max_budget_usd in the configuration of provider claude, or give it less to do",
	}
	noPrompt = class{sdk.OutcomeFailed, failure.ConfigInvalid, false, "the stage's prompt is empty"}
)

// byStatus classes the HTTP status of the API.
func byStatus(status int) (class, bool) {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return login, true
	case status == http.StatusPaymentRequired:
		return billing, true
	case status == http.StatusNotFound:
		return noModel, true
	case status == http.StatusRequestEntityTooLarge:
		return tooLong, true
	case status == http.StatusTooManyRequests:
		return limited, true
	case status == http.StatusRequestTimeout || status >= 500:
		return service, true
	case status >= 400:
		return refused, true
	}
	return class{}, false
}

// byWord classes the error words of assistant and result events, terminal_reason among them.
func byWord(word string) (class, bool) {
	c, ok := map[string]class{
		"authentication_failed": login,
		"billing_error":         billing,
		"rate_limit":            limited,
		"overloaded":            service,
		"server_error":          service,
		"connection_failed":     service,
		"model_not_found":       noModel,
		"invalid_request":       refused,
		"prompt_too_long":       tooLong,
	}[word]
	return c, ok
}

// byText classes words that a person would read, the surest first. They are only looked for in the
// agent's messages about a failure, never in its work.
func byText(text string) (class, bool) {
	text = strings.ToLower(text)
	for _, sign := range []struct {
		class
		words []string
	}{
		{isRoot, []string{"cannot be used with root/sudo privileges"}},
		{badFlags, []string{"error: unknown option", "error: option '", "requires --verbose", "is already in use", "no conversation found"}},
		{noPrompt, []string{"input must be provided either through stdin"}},
		{billing, []string{"credit balance is too low"}},
		{login, []string{"not logged in", "please run /login", "invalid api key", "authentication_error", "oauth token has expired"}},
		{limited, []string{"usage limit", "limit reached", "hit your limit", "rate_limit_error", "rate limit", "api error: 429"}},
		{tooLong, []string{"prompt is too long"}},
		{service, []string{
			"overloaded", "api error: 5", "connection error", "connection refused", "unable to connect", "econnrefused",
			"econnreset", "etimedout", "enotfound", "fetch failed", "socket hang up", "request timed out",
		}},
	} {
		for _, words := range sign.words {
			if strings.Contains(text, words) {
				return sign.class, true
			}
		}
	}
	return class{}, false
}
