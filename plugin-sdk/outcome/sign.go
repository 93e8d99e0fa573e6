package outcome

import (
	"net/http"
	"slices"
)

// byStatus returns the class of an HTTP status; none for a status below 400 or above 599.
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

// apiWords are, by class, the error codes of the APIs of Anthropic, OpenAI and compatible servers: error.type,
// error.code and stop reasons. Anthropic's api_error is missing on purpose, because it states only
// that an error occurred.
var apiWords = map[Class][]string{
	Login: {
		"authentication_error", "authentication_failed", "invalid_api_key", "invalid_token", "token_expired",
		"auth_required",
	},
	Forbidden: {
		"permission_error", "unsupported_country_region_territory", "organization_restricted", "account_deactivated",
		"insufficient_permissions", "model_access_denied",
	},
	Billing: {
		"billing_error", "billing_not_active", "billing_hard_limit_reached", "credit_balance_exhausted",
		"insufficient_quota", "insufficient_credits", "usage_not_included",
	},
	RateLimited: {
		"rate_limit", "rate_limit_error", "rate_limit_exceeded", "rate_limited", "slow_down", "too_many_requests",
		"usage_limit_reached",
	},
	Unavailable: {
		"overloaded", "overloaded_error", "server_is_overloaded", "server_error", "internal_error",
		"internal_server_error", "service_unavailable", "service_unavailable_error", "timeout_error",
		"connection_failed", "connection_error",
	},
	ModelUnknown: {"model_not_found", "not_found_error"},
	TooLong: {
		"context_length_exceeded", "context_window_exceeded", "model_context_window_exceeded", "prompt_too_long",
		"request_too_large", "string_above_max_length",
	},
	OutputLimit: {"max_output_tokens"},
	Declined:    {"content_filter", "content_policy_violation", "refusal"},
	Refused:     {"invalid_request", "invalid_request_error", "invalid_prompt", "unsupported_parameter", "unsupported_value"},
}

// apiClass returns the class of an error code, "" for an unknown code.
func apiClass(code string) Class {
	for class, codes := range apiWords {
		if slices.Contains(codes, code) {
			return class
		}
	}
	return ""
}

// sharedSigns are parts of error messages that more than one agent writes, most reliable first.
// Only error messages and the plain lines of a failed process are searched for them.
var sharedSigns = []Sign{
	{Class: TooLong, Texts: []string{
		"context window", "prompt is too long", "input is too long", "maximum context length", "context length exceeded",
		"reduce the length of",
		"request too large", // OpenAI, status 429: more than the limit per minute, so that waiting does not help
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
