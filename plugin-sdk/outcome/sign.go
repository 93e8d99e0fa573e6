package outcome

import "net/http"

// byStatus returns the class of an HTTP status; none below 400 and above 599.
func byStatus(status int) []Reason {
	var c Class
	switch {
	case status < 400 || status > 599:
		return nil
	case status == http.StatusUnauthorized:
		c = Login
	case status == http.StatusPaymentRequired:
		c = Billing
	case status == http.StatusForbidden:
		c = Forbidden
	case status == http.StatusNotFound:
		c = ModelUnknown // the only resource that a request names
	case status == http.StatusRequestEntityTooLarge:
		c = TooLong
	case status == http.StatusTooManyRequests:
		c = RateLimited
	case status == http.StatusRequestTimeout || status >= 500:
		c = Unavailable // 529 is Anthropic's "overloaded"
	default:
		c = Refused
	}
	return []Reason{{Class: c}}
}

// apiWords are the error codes of the APIs of Anthropic, OpenAI and compatible servers: error.type,
// error.code and stop reasons. Anthropic's api_error is missing on purpose, because it states only
// that an error occurred.
var apiWords = map[string]Class{
	"authentication_error":  Login,
	"authentication_failed": Login,
	"invalid_api_key":       Login,
	"invalid_token":         Login,
	"token_expired":         Login,
	"auth_required":         Login,

	"permission_error":                     Forbidden,
	"unsupported_country_region_territory": Forbidden,
	"organization_restricted":              Forbidden,
	"account_deactivated":                  Forbidden,
	"insufficient_permissions":             Forbidden,
	"model_access_denied":                  Forbidden,
	"billing_error":                        Billing,
	"billing_not_active":                   Billing,
	"billing_hard_limit_reached":           Billing,
	"credit_balance_exhausted":             Billing,
	"insufficient_quota":                   Billing,
	"insufficient_credits":                 Billing,
	"usage_not_included":                   Billing,
	"rate_limit":                           RateLimited,
	"rate_limit_error":                     RateLimited,
	"rate_limit_exceeded":                  RateLimited,
	"rate_limited":                         RateLimited,
	"slow_down":                            RateLimited,
	"too_many_requests":                    RateLimited,
	"usage_limit_reached":                  RateLimited,
	"overloaded":                           Unavailable,
	"overloaded_error":                     Unavailable,
	"server_is_overloaded":                 Unavailable,
	"server_error":                         Unavailable,
	"internal_error":                       Unavailable,
	"internal_server_error":                Unavailable,
	"service_unavailable":                  Unavailable,
	"service_unavailable_error":            Unavailable,
	"timeout_error":                        Unavailable,
	"connection_failed":                    Unavailable,
	"connection_error":                     Unavailable,
	"model_not_found":                      ModelUnknown,
	"not_found_error":                      ModelUnknown,
	"context_length_exceeded":              TooLong,
	"context_window_exceeded":              TooLong,
	"model_context_window_exceeded":        TooLong,
	"prompt_too_long":                      TooLong,
	"request_too_large":                    TooLong,
	"string_above_max_length":              TooLong,
	"max_output_tokens":                    OutputLimit,
	"content_filter":                       Declined,
	"content_policy_violation":             Declined,
	"refusal":                              Declined,
	"invalid_request":                      Refused,
	"invalid_request_error":                Refused,
	"invalid_prompt":                       Refused,
	"unsupported_parameter":                Refused,
	"unsupported_value":                    Refused,
}

// sharedSigns are parts of error messages that more than one agent writes, most reliable first.
// They are never searched for in an agent's work.
var sharedSigns = []Sign{
	{Class: TooLong, Texts: []string{
		"context window", "prompt is too long", "input is too long", "maximum context length", "context length exceeded",
		"reduce the length of",
		"request too large", // of OpenAI, with 429: exceeds the limit per minute, so that waiting does not help
	}},
	{Class: Billing, Texts: []string{
		"credit balance is too low", "quota exceeded", "exceeded your current quota", "out of credits", "insufficient credits",
		"spend limit", "payment required", "specified api usage limits",
	}},
	{Class: Forbidden, Texts: []string{"organization has been disabled"}},
	{Class: RateLimited, Texts: []string{
		"usage limit", "rate limit", "too many requests", "limit reached", "ve hit your", "hit your limit",
	}},
	{Class: Login, Texts: []string{
		"not logged in", "invalid api key", "incorrect api key", "invalid x-api-key", "invalid bearer token", "missing api key",
		"token has expired", "token expired", "unauthorized", "authentication required", "authentication failed",
	}},
	{Class: ModelUnknown, Texts: []string{
		"does not exist or you do not have access", "model is not supported", "model not found", "unknown model",
		"issue with the selected model",
	}},
	{Class: Declined, Texts: []string{"usage policy", "usage policies", "content policy", "safeguards flagged", "flagged as potentially violating"}},
	{Class: Unavailable, Texts: []string{
		"overloaded", "at capacity", "high demand", "internal server error", "bad gateway", "service unavailable",
		"gateway timeout", "gateway time-out", "stream disconnected", "stream closed", "connection failed", "connection error",
		"connection refused", "connection reset", "connection closed", "unable to connect", "error sending request",
		"waiting for network", "network is unreachable", "network error", "no such host", "name resolution", "broken pipe",
		"unexpected eof", "i/o timeout", "timed out", "tls handshake", "fetch failed", "socket hang up",
		"econnrefused", "econnreset", "etimedout", "enotfound", "eai_again", "epipe",
	}},
}
