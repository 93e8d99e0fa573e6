package agent

import (
	"encoding/json"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// Config is the provider's configuration; config.schema.json says the same to others.
type Config struct {
	// API is the language that the service speaks. Default openai.
	API model.API `json:"api"`
	// BaseURL is where the service is. Default: Ollama on this machine, or Anthropic's own with its API.
	BaseURL string `json:"base_url"`
	// APIKeyEnv names the variable that holds the key, "" for none. Default: that of the two official services.
	APIKeyEnv string `json:"api_key_env"`
	// Model is used where the pipeline names none.
	Model string `json:"model"`
	// MaxTurns are the replies of one attempt outside steps. Default 100.
	MaxTurns *int `json:"max_turns"`
	// MaxOutputTokens limits one reply. Default: the service's own limit.
	MaxOutputTokens *int `json:"max_output_tokens"`
	// Effort is the service's word for how much to think.
	Effort string `json:"effort"`
	// Headers are names of headers, and of the variables that hold their values.
	Headers map[string]string `json:"headers"`
	// Prices are by model.
	Prices map[string]Price `json:"prices"`
	// LocalNetworks count as local beside this machine.
	LocalNetworks []string `json:"local_networks"`
	// ToolRetries is how often a command is made again that failed for a moment. Default 3.
	ToolRetries *int `json:"tool_retries"`
	// System is added to the system prompt.
	System string `json:"system"`
}

// Where the services are, where the user does not say.
const (
	ollama    = "http://localhost:11434/v1"
	anthropic = "https://api.anthropic.com"
)

// keyVariables are the variables of the official services, by their hosts.
var keyVariables = map[string]string{"api.openai.com": "OPENAI_API_KEY", "api.anthropic.com": "ANTHROPIC_API_KEY"}

const (
	defaultTurns       = 100
	defaultToolRetries = 3
)

// variable is the name of an environment variable.
var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// readConfig checks a configuration and fills in its defaults. Errors are of kind config_invalid and never show what
// may be a secret.
func readConfig(raw json.RawMessage) (Config, error) {
	if err := refuseKeys(raw); err != nil {
		return Config{}, err
	}
	var c Config
	if err := config.Decode(raw, &c); err != nil {
		return c, err
	}
	if c.API == "" {
		c.API = model.OpenAI
	}
	if c.API != model.OpenAI && c.API != model.Anthropic {
		return c, invalid("unknown api %q", c.API).WithHint("use openai for Ollama, LM Studio, llama.cpp, vLLM and OpenAI, anthropic for Anthropic")
	}
	if c.BaseURL == "" {
		c.BaseURL = map[model.API]string{model.OpenAI: ollama, model.Anthropic: anthropic}[c.API]
	}
	if base, err := url.Parse(c.BaseURL); err == nil && c.APIKeyEnv == "" {
		c.APIKeyEnv = keyVariables[base.Hostname()]
	}
	return c, c.check()
}

// refuseKeys refuses a secret in the place where only its name belongs.
func refuseKeys(raw json.RawMessage) error {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members) // Decode says what is wrong
	for _, key := range slices.Sorted(maps.Keys(members)) {
		switch strings.ToLower(strings.ReplaceAll(key, "-", "_")) {
		case "api_key", "apikey", "key", "token", "auth_token", "secret", "password":
			return invalid("%s: a key does not belong into a file", key).
				WithHint("put it into an environment variable and write the variable's name: api_key_env: OPENAI_API_KEY")
		}
	}
	return nil
}

func (c Config) check() error {
	if c.APIKeyEnv != "" && !variable.MatchString(c.APIKeyEnv) {
		return invalid("api_key_env is not the name of an environment variable").
			WithHint("write the name alone, as OPENAI_API_KEY; if that was the key itself, take it out of the file, and renew it")
	}
	for _, header := range slices.Sorted(maps.Keys(c.Headers)) {
		if !variable.MatchString(c.Headers[header]) {
			return invalid("headers.%s is not the name of an environment variable", header).
				WithHint("put the header's value into an environment variable and write its name here")
		}
	}
	for _, limit := range []struct {
		name  string
		value *int
		least int
	}{{"max_turns", c.MaxTurns, 1}, {"max_output_tokens", c.MaxOutputTokens, 1}, {"tool_retries", c.ToolRetries, 0}} {
		if limit.value != nil && *limit.value < limit.least {
			return invalid("%s is %d, and at least %d makes sense", limit.name, *limit.value, limit.least)
		}
	}
	if c.ToolRetries != nil && *c.ToolRetries > 10 {
		return invalid("tool_retries is %d, and at most 10 makes sense", *c.ToolRetries)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Prices)) {
		if err := c.Prices[name].check(name); err != nil {
			return err
		}
	}
	_, err := c.networks()
	return err
}

// networks are those that the user calls local. One that takes in everything would make the mode mean nothing.
func (c Config) networks() ([]netip.Prefix, error) {
	var found []netip.Prefix
	for _, text := range c.LocalNetworks {
		n, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, invalid("local_networks: %q is no network", text).WithHint("write it as 10.1.0.0/16, or 10.1.2.3/32 for one machine")
		}
		if n.Bits() == 0 {
			return nil, invalid("local_networks: %q is every address there is", text).WithHint("name the networks that are yours, or choose policy.mode open")
		}
		found = append(found, n.Masked())
	}
	return found, nil
}

func invalid(format string, args ...any) *failure.Error {
	return failure.New(failure.ConfigInvalid, "config: "+format, args...)
}
