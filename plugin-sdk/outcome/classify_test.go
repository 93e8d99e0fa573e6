package outcome

import (
	"net/http"
	"testing"
	"time"
)

func TestStatus(t *testing.T) {
	tests := map[int]Class{
		0: Failed, 200: Failed, 302: Failed, 400: Refused, 401: Login, 402: Billing, 403: Forbidden, 404: ModelUnknown,
		408: Unavailable, 409: Refused, 413: TooLong, 422: Refused, 429: RateLimited,
		500: Unavailable, 502: Unavailable, 503: Unavailable, 504: Unavailable, 529: Unavailable, 600: Failed, -1: Failed,
	}
	for status, want := range tests {
		if got := (Agent{}).Classify(Fault{Status: status}, time.Time{}).Class; got != want {
			t.Errorf("status %d: %q, want %q", status, got, want)
		}
	}
}

// TestMessageSigns checks error codes from Anthropic's and OpenAI's documentation, and observed codes.
func TestMessageSigns(t *testing.T) {
	tests := map[Class][]string{
		Login:        {"authentication_error", "authentication_failed", "invalid_api_key", "auth_required"},
		Forbidden:    {"permission_error", "unsupported_country_region_territory"},
		Billing:      {"billing_error", "insufficient_quota", "credit_balance_exhausted", "billing_hard_limit_reached"},
		RateLimited:  {"rate_limit", "rate_limit_error", "rate_limit_exceeded", "slow_down", "usage_limit_reached"},
		Unavailable:  {"overloaded_error", "overloaded", "server_is_overloaded", "server_error", "timeout_error", "service_unavailable_error"},
		ModelUnknown: {"model_not_found", "not_found_error"},
		TooLong:      {"context_length_exceeded", "prompt_too_long", "request_too_large", "model_context_window_exceeded"},
		OutputLimit:  {"max_output_tokens"},
		Declined:     {"content_filter", "refusal"},
		Refused:      {"invalid_request", "invalid_request_error", "unsupported_parameter"},
		Failed:       {"api_error", "unknown", "", "RATE"},
	}
	for want, words := range tests {
		for _, word := range words {
			if got := (Agent{}).Classify(Fault{Codes: []string{word}}, time.Time{}).Class; got != want {
				t.Errorf("%s: %q, want %q", word, got, want)
			}
		}
	}
}

// TestCodeHasOneClass: the class of a code in two lists would depend on the random order of a map.
func TestCodeHasOneClass(t *testing.T) {
	classes := map[string]Class{}
	for class, codes := range apiWords {
		for _, code := range codes {
			if other, twice := classes[code]; twice {
				t.Errorf("%s stands twice: class %s and class %s", code, class, other)
			}
			classes[code] = class
		}
	}
}

func TestText(t *testing.T) {
	tests := map[string]Class{
		"Invalid API key · Fix external API key":                                            Login,
		"unexpected status 401 Unauthorized: Incorrect API key provided":                    Login,
		"API Error: 401 {\"type\":\"error\",\"error\":{\"type\":\"authentication_error\"}}": Login,
		"unexpected status 403 Forbidden: no":                                               Forbidden,
		"OAuth token has expired":                                                           Login,
		"API Error: 500 Internal server error":                                              Unavailable,
		"API Error: 529 Overloaded. This is a server-side issue":                            Unavailable,
		"There's an issue with the selected model (x). It may not exist":                    ModelUnknown,
		"Prompt is too long":                                                                TooLong,
		"Credit balance is too low":                                                         Billing,
		"Quota exceeded. Check your plan and billing details.":                              Billing,
		"429 You exceeded your current quota, please check your plan and billing details":   Billing,
		"You've hit your monthly spend limit":                                               Billing,
		"Claude usage limit reached. Your limit will reset at 3pm":                          RateLimited,
		"You've hit your session limit · resets 3pm":                                        RateLimited,
		"You've hit your usage limit. Try again at 3:05 PM.":                                RateLimited,
		"exceeded retry limit, last status: 429 Too Many Requests":                          RateLimited,
		"API Error: Request rejected (429) · slow down":                                     RateLimited,
		"HTTP 429": RateLimited,
		"API Error: Connection refused (ECONNREFUSED)":                                                           Unavailable,
		"API Error: 500 {\"type\":\"error\",\"error\":{\"type\":\"api_error\"}}":                                 Unavailable,
		"Post \"http://127.0.0.1:1/v1\": dial tcp 127.0.0.1:1: connect: connection refused":                      Unavailable,
		"We're currently experiencing high demand, which may cause":                                              Unavailable,
		"unexpected status 503 Service Unavailable: down":                                                        Unavailable,
		"exceeded retry limit, last status: 500":                                                                 Unavailable,
		"Selected model is at capacity. Please try a different model.":                                           Unavailable,
		"Connection failed: error sending request":                                                               Unavailable,
		"The model 'x' does not exist or you do not have access to it.":                                          ModelUnknown,
		"unexpected status 404 Not Found: no":                                                                    ModelUnknown,
		"Codex ran out of room in the model's context window.":                                                   TooLong,
		"400 {\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 2 tokens > 1\"}}":  TooLong,
		"{\"type\":\"invalid_request_error\",\"code\":\"context_length_exceeded\"}":                              TooLong,
		"API Error: unable to respond to this request, which appears to violate our Usage Policy":                Declined,
		"unexpected status 400 Bad Request: no":                                                                  Refused,
		"Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 35000.":                     TooLong,
		"{\"type\":\"invalid_request_error\",\"message\":\"This organization has been disabled.\"}":              Forbidden,
		"{\"type\":\"invalid_request_error\",\"message\":\"You have reached your specified API usage limits.\"}": Billing,
		"504 Gateway Time-out": Unavailable,
		"API Error: 400 {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"tools.0\"}}": Refused,
		"status: 200":       Failed,
		"I fixed the tests": "failed",
		"error 4291":        Failed,
		"":                  Failed,
	}
	for text, want := range tests {
		if got := (Agent{}).Classify(Fault{Message: text}, time.Time{}).Class; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestSpecificSignsComeFirst(t *testing.T) {
	a := Agent{
		Codes: map[string]Class{"max_turns": TurnLimit, "rate_limit": Config},
		Signs: []Sign{{Class: Config, Texts: []string{"rate limit of the config"}}},
	}
	tests := []struct {
		name  string
		fault Fault
		want  Class
	}{
		{"a word before the status", Fault{Codes: []string{"insufficient_quota"}, Status: 429}, Billing},
		{"the status before a vague word", Fault{Codes: []string{"invalid_request_error"}, Status: 404}, ModelUnknown},
		{"the surer word first", Fault{Codes: []string{"invalid_api_key", "not_found_error"}}, Login},
		{"a specific word behind a vague one", Fault{Codes: []string{"invalid_request_error", "context_length_exceeded"}}, TooLong},
		{"the text before a vague status", Fault{Status: 400, Message: "prompt is too long"}, TooLong},
		{"the status before a vague text", Fault{Status: 401, Message: "the session timed out"}, Login},
		{"too much at once, before the status", Fault{Status: 429, Message: "Request too large for gpt-x on tokens per min"}, TooLong},
		{"an unknown word is ignored", Fault{Codes: []string{"new_word"}, Status: 429}, RateLimited},
		{"words in capitals", Fault{Codes: []string{"RATE_LIMIT_EXCEEDED"}}, RateLimited},
		{"the agent's word", Fault{Codes: []string{"max_turns"}}, TurnLimit},
		{"the agent's word before the shared one", Fault{Codes: []string{"rate_limit"}}, Config},
		{"the agent's sign before the shared one", Fault{Message: "rate limit of the config"}, Config},
		{"nothing", Fault{}, Failed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := a.Classify(tt.fault, time.Time{}).Class; got != tt.want {
				t.Errorf("class %q, want %q", got, tt.want)
			}
		})
	}
}

// FuzzRetryAfter checks any headers and texts: a wait is never negative or longer than the maximum.
func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "3", "0.5", "-1", "1e300", "NaN", "Inf", "Sun, 22 Nov 2026 12:00:05 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", "0x10"} {
		f.Add(seed, "", "")
		f.Add("", seed, "try again in "+seed)
	}
	for _, seed := range []string{"resets 3:05pm (Europe/Berlin)", "try again in 2 hours and 5 minutes", "retry in 1/5", "limit reached|1795179600", "Try again at Jan 2nd, 2026 3:05 PM", "wait 99999999999999999999h", "resets 12am (..)"} {
		f.Add("", "", seed)
	}
	f.Fuzz(func(t *testing.T, ms, seconds, message string) {
		now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		h := http.Header{"Retry-After-Ms": {ms}, "Retry-After": {seconds}}
		for source, d := range map[string]time.Duration{"headers": RetryAfter(h, now), "message": waitIn(message, now), "message without a clock": waitIn(message, time.Time{})} {
			if d < 0 || d > maxWait {
				t.Errorf("%s: wait %s", source, d)
			}
		}
	})
}
