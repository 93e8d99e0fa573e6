package model

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// API is the language that a service speaks.
type API string

// The two APIs.
const (
	OpenAI    API = "openai"
	Anthropic API = "anthropic"
)

// Endpoint is a model service and how to reach it.
type Endpoint struct {
	API API
	// BaseURL is what the API's paths are added to: http://localhost:11434/v1, https://api.anthropic.com. A service on a
	// Unix socket is unix:///run/model.sock.
	BaseURL string
	// Key is the secret that the service wants, "" for none.
	Key string
	// Headers are added to each request.
	Headers map[string]string
	// Reach says where connections may go.
	Reach Reach
}

// New makes a client of an endpoint that [Endpoint.Check] has no objection to. close frees its idle connections.
func New(e Endpoint) (c Client, closeIdle func(), err error) {
	base, err := e.parse()
	if err != nil {
		return nil, nil, err
	}
	transport := e.Reach.transport(base)
	client := &http.Client{Transport: transport, CheckRedirect: sameHost}
	if e.API == Anthropic {
		return newMessages(e, base, client), transport.CloseIdleConnections, nil
	}
	return newChat(e, base, client), transport.CloseIdleConnections, nil
}

// Check refuses an address that is none, or that the mode does not allow, as config_invalid. It opens no connection.
func (e Endpoint) Check() error {
	base, err := e.parse()
	if err != nil {
		return err
	}
	return e.Reach.check(base)
}

func (e Endpoint) parse() (*url.URL, error) {
	base, err := url.Parse(e.BaseURL)
	switch {
	case err != nil:
		return nil, badURL("base_url cannot be read: %w", err)
	case base.User != nil:
		return nil, badURL("base_url has a user name or password in it").
			WithHint("put the secret into an environment variable and name it in api_key_env, or in headers")
	case base.RawQuery != "" || base.Fragment != "":
		return nil, badURL("base_url %q has more than a path: leave out what begins with ? or #", base.Redacted())
	case base.Scheme == "unix" && strings.HasPrefix(base.Path, "/") && base.Host == "":
		return base, nil
	case (base.Scheme != "http" && base.Scheme != "https") || base.Hostname() == "":
		return nil, badURL("base_url %q is no address of a service", base.Redacted())
	}
	return base, nil
}

func badURL(format string, args ...any) *failure.Error {
	return failure.New(failure.ConfigInvalid, "config: "+format, args...).
		WithHint("write it as http://localhost:11434/v1, https://api.openai.com/v1 or unix:///run/model.sock")
}

// requests is the base of request addresses: that of a socket needs a host, which nobody looks up.
func (e Endpoint) requests(base *url.URL) string {
	if base.Scheme != "unix" {
		return strings.TrimRight(base.String(), "/") + "/"
	}
	if e.API == Anthropic {
		return "http://localhost/"
	}
	return "http://localhost/v1/"
}

// sameHost lets a service redirect to itself only: a redirect elsewhere would carry the key and the project's text there.
func sameHost(to *http.Request, via []*http.Request) error {
	from := via[0].URL
	if to.URL.Host != from.Host || to.URL.Scheme != from.Scheme || len(via) >= 5 {
		return failure.New(failure.ConfigInvalid, "the model service redirects to %s://%s, which is not followed", to.URL.Scheme, to.URL.Host).
			WithHint("set base_url to the address that it redirects to, if you trust it")
	}
	return nil
}
