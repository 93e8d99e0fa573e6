package model

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// API is the protocol of a service.
type API string

// The two APIs.
const (
	OpenAI    API = "openai"
	Anthropic API = "anthropic"
)

// Endpoint is a model service and the rules for connections to it.
type Endpoint struct {
	API API
	// BaseURL is the prefix of the API's paths: http://localhost:11434/v1, https://api.anthropic.com. A service on a Unix
	// socket is unix:///run/model.sock.
	BaseURL string
	// Key is the service's API key, "" for none.
	Key string
	// Headers are added to each request.
	Headers map[string]string
	// Network restricts the connections.
	Network NetworkPolicy
}

// New returns a client of an endpoint that passes [Endpoint.Check]. closeIdle closes the client's idle connections.
func New(e Endpoint) (c Client, closeIdle func(), err error) {
	base, err := e.parse()
	if err != nil {
		return nil, nil, err
	}
	transport := e.Network.transport(base)
	client := &http.Client{Transport: transport, CheckRedirect: refuseRedirect}
	if e.API == Anthropic {
		return newMessages(e, base, client), transport.CloseIdleConnections, nil
	}
	return newChat(e, base, client), transport.CloseIdleConnections, nil
}

// Check refuses an invalid address and an address that the mode does not allow, as config_invalid. It opens no connection.
func (e Endpoint) Check() error {
	base, err := e.parse()
	if err != nil {
		return err
	}
	return e.Network.check(base)
}

func (e Endpoint) parse() (*url.URL, error) {
	base, err := url.Parse(e.BaseURL)
	switch {
	case err != nil:
		return nil, invalidURL("base_url cannot be read: %w", err)
	case base.User != nil:
		return nil, invalidURL("base_url contains a user name or password").
			WithHint("put the secret into an environment variable and name it in api_key_env, or in headers")
	case base.RawQuery != "" || base.Fragment != "":
		return nil, invalidURL("base_url %q has more than a path: remove the query and the fragment (? and #)", base.Redacted())
	case base.Scheme == "unix" && strings.HasPrefix(base.Path, "/") && base.Host == "":
		return base, nil
	case (base.Scheme != "http" && base.Scheme != "https") || base.Hostname() == "":
		return nil, invalidURL("base_url %q is not the address of a service", base.Redacted())
	}
	return base, nil
}

func invalidURL(format string, args ...any) *failure.Error {
	return failure.New(failure.ConfigInvalid, "config: "+format, args...).
		WithHint("write it as http://localhost:11434/v1, https://api.openai.com/v1 or unix:///run/model.sock")
}

// requestBase returns the base of request addresses. A socket needs a host name, which is never resolved.
func (e Endpoint) requestBase(base *url.URL) string {
	if base.Scheme != "unix" {
		return strings.TrimRight(base.String(), "/") + "/"
	}
	if e.API == Anthropic {
		return "http://localhost/"
	}
	return "http://localhost/v1/"
}

// refuseRedirect allows redirects within one host only: another host would receive the key and the project's text.
func refuseRedirect(to *http.Request, via []*http.Request) error {
	from := via[0].URL
	if to.URL.Host != from.Host || to.URL.Scheme != from.Scheme || len(via) >= 5 {
		return failure.New(failure.ConfigInvalid, "the model service redirects to %s://%s, which is not followed", to.URL.Scheme, to.URL.Host).
			WithHint("set base_url to the address that it redirects to, if you trust it")
	}
	return nil
}
