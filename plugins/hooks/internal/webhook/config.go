package webhook

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Config holds the keys of a hook with action webhook.
type Config struct {
	// URL receives the POST request; http or https. Required.
	URL string `json:"url"`
	// Headers are sent in addition to the action's own headers. ${NAME} in a value is replaced by the variable NAME.
	Headers map[string]string `json:"headers"`
	// SecretEnv names the variable that holds the signature key. Default: no signature.
	SecretEnv string `json:"secret_env"`
	// Retries is the number of retries after a network error or a response 429, 502, 503 or 504. Default 2, at
	// most 10.
	Retries int `json:"retries"`
}

const (
	defaultRetries = 2
	maxRetries     = 10
)

// The headers that the action sets.
const (
	headerKey       = "Idempotency-Key"
	headerSignature = "X-Agent-Pipelines-Signature"
	headerType      = "Content-Type"
	headerAgent     = "User-Agent"
)

// reservedHeaders are the headers that a configuration cannot set, in canonical form.
var reservedHeaders = []string{headerKey, headerSignature, headerType, "Content-Length", "Host", "Transfer-Encoding", "Connection"}

var (
	// headerName matches a token of RFC 9110, section 5.6.2.
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	// variable matches a reference to a variable of the environment, well-formed or not.
	variable     = regexp.MustCompile(`\$\{[^}]*\}?`)
	variableName = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)
)

// readConfig decodes and checks a configuration. Errors are of kind config_invalid.
func readConfig(raw json.RawMessage) (Config, error) {
	c := Config{Retries: defaultRetries}
	if err := config.Decode(raw, &c); err != nil {
		return Config{}, err
	}
	u, err := url.Parse(c.URL)
	switch {
	case c.URL == "":
		return Config{}, failure.New(failure.ConfigInvalid, "webhook: url is missing").WithHint("set url: https://… to the address of the request")
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return Config{}, failure.New(failure.ConfigInvalid, "webhook: url %q is not an http or https URL", c.URL).
			WithHint("write the full address, such as https://ci.example.com/review")
	case c.Retries < 0 || c.Retries > maxRetries:
		return Config{}, failure.New(failure.ConfigInvalid, "webhook: retries is %d, want 0 to %d", c.Retries, maxRetries)
	}
	return c, c.checkHeaders()
}

func (c Config) checkHeaders() error {
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		value := c.Headers[name]
		switch {
		case !headerName.MatchString(name):
			return failure.New(failure.ConfigInvalid, "webhook: %q is not the name of a header", name)
		case slices.Contains(reservedHeaders, http.CanonicalHeaderKey(name)):
			return failure.New(failure.ConfigInvalid, "webhook: the header %s is set by the action itself", name).WithHint("remove it from headers")
		}
		for _, ref := range variable.FindAllString(value, -1) {
			if !variableName.MatchString(ref) {
				return failure.New(failure.ConfigInvalid, "webhook: %q in the header %s names no variable", ref, name).WithHint("write ${NAME}")
			}
		}
	}
	return nil
}

// resolve returns the configured headers, with the variables replaced, and the signature key, nil for none. The error
// names all variables that are unset or empty.
func (c Config) resolve(lookup func(string) (string, bool)) (header http.Header, secret []byte, err error) {
	header = http.Header{}
	var missing []string
	value := func(name string) string {
		text, _ := lookup(name)
		if text == "" && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
		return text
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		text := variable.ReplaceAllStringFunc(c.Headers[name], func(ref string) string {
			return value(ref[len("${") : len(ref)-len("}")])
		})
		if strings.ContainsAny(text, "\r\n\x00") {
			return nil, nil, failure.New(failure.ConfigInvalid, "webhook: the value of the header %s has more than one line", name)
		}
		header.Set(name, text)
	}
	if c.SecretEnv != "" {
		secret = []byte(value(c.SecretEnv))
	}
	if len(missing) > 0 {
		return nil, nil, failure.New(failure.ConfigInvalid, "webhook: not set in the environment of the hook: %s", strings.Join(missing, ", ")).
			WithHint("export it before the run, and add it to policy.env if that lists variables")
	}
	return header, secret, nil
}
