package stubmodel

import (
	"encoding/json"
	"strings"
)

// createdAt is the time of every answer of the OpenAI APIs, in seconds since 1970. It is constant, so that answers
// can be compared.
const createdAt = 1_750_000_000

// openAIContent is the text of a message or a tool result. In JSON it is a string or a list of parts. Parts without
// text and all other values are empty.
type openAIContent []openAIPart

type openAIPart struct {
	Text string `json:"text"`
}

// UnmarshalJSON reads all forms.
func (c *openAIContent) UnmarshalJSON(raw []byte) error {
	switch raw[0] {
	case '"':
		*c = openAIContent{{}}
		return json.Unmarshal(raw, &(*c)[0].Text)
	case '[':
		return json.Unmarshal(raw, (*[]openAIPart)(c))
	default:
		*c = nil
		return nil
	}
}

// text joins the parts that have text.
func (c openAIContent) text() string {
	var parts []string
	for _, part := range c {
		if part.Text != "" {
			parts = append(parts, part.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// appendText adds a text that is not empty.
func appendText(texts []string, text string) []string {
	if text == "" {
		return texts
	}
	return append(texts, text)
}

// openAIError is the body of an error.
type openAIError struct {
	Error openAIErrorWords `json:"error"`
}

type openAIErrorWords struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"` // always null, because scripts have no value for it
	Code    *string `json:"code"`
}

func newOpenAIError(f fault) openAIError {
	kind, code := openAIWords(f)
	words := openAIErrorWords{Message: f.message, Type: kind}
	if code != "" {
		words.Code = &code
	}
	return openAIError{words}
}

// openAIWords returns the type and the code of an error; the code "" is null. A type in the script is also the code,
// as the service has it for insufficient_quota.
func openAIWords(f fault) (kind, code string) {
	switch {
	case f.kind != "":
		return f.kind, f.kind
	case f.status == 401:
		return "invalid_request_error", "invalid_api_key"
	case f.status == 404:
		return "invalid_request_error", "model_not_found"
	case f.status == 429:
		return "requests", "rate_limit_exceeded"
	case f.status == 503:
		return "service_unavailable_error", "server_is_overloaded"
	case f.status >= 500:
		return "server_error", ""
	default:
		return "invalid_request_error", ""
	}
}
