package agent

import (
	"encoding/json"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugins/agent/internal/model"
)

// Config is the provider's configuration. config.schema.json describes the same keys.
type Config struct {
	// API is the protocol of the service. Default openai.
	API model.API `json:"api"`
	// BaseURL is the address of the service. Default: Ollama on this machine for openai, Anthropic's service for
	// anthropic.
	BaseURL string `json:"base_url"`
	// APIKeyEnv names the variable that holds the key. Default: OPENAI_API_KEY or ANTHROPIC_API_KEY for the two
	// official services, else none.
	APIKeyEnv string `json:"api_key_env"`
	// Model is the model for pipelines that name none.
	Model string `json:"model"`
	// MaxTurns limits the model's replies in an attempt, except an attempt for a step of a plan. Default 100.
	MaxTurns int `json:"max_turns"`
	// IdenticalTurns is the number of turns in a row with the same calls and results that ends an attempt. Default 3. 0: no
	// limit.
	IdenticalTurns int `json:"identical_turns"`
	// MaxOutputTokens limits one reply, in tokens. 0, the default, is the service's limit.
	MaxOutputTokens int `json:"max_output_tokens"`
	// Effort is the reasoning effort in the service's terms. Default: the service's default.
	Effort string `json:"effort"`
	// Headers maps each extra header to the variable that holds its value.
	Headers map[string]string `json:"headers"`
	// Prices maps a model to its prices.
	Prices map[string]sdk.Price `json:"prices"`
	// LocalNetworks are networks in CIDR notation that count as local, besides this machine.
	LocalNetworks []string `json:"local_networks"`
	// ToolRetries limits the repeats of a command after a temporary failure: 0 to 10. Default 3.
	ToolRetries int `json:"tool_retries"`
	// System is added to the system prompt.
	System string `json:"system"`
}

// Default addresses of the services.
const (
	ollamaURL    = "http://localhost:11434/v1"
	anthropicURL = "https://api.anthropic.com"
)

// keyVariables maps the hosts of the official services to the variables with their API keys.
var keyVariables = map[string]string{"api.openai.com": "OPENAI_API_KEY", "api.anthropic.com": "ANTHROPIC_API_KEY"}

// variableName matches the name of an environment variable.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// readConfig decodes a configuration, sets its defaults and checks it. Errors are of kind config_invalid and never show a
// value that may be a secret.
func readConfig(raw json.RawMessage) (Config, error) {
	c := Config{API: model.OpenAI, MaxTurns: 100, IdenticalTurns: 3, ToolRetries: 3}
	if err := config.Decode(raw, &c); err != nil {
		return c, err
	}
	if c.API != model.OpenAI && c.API != model.Anthropic {
		return c, configError("unknown api %q", c.API).WithHint("use openai for Ollama, LM Studio, llama.cpp, vLLM and OpenAI, anthropic for Anthropic")
	}
	if c.BaseURL == "" {
		c.BaseURL = map[model.API]string{model.OpenAI: ollamaURL, model.Anthropic: anthropicURL}[c.API]
	}
	if base, err := url.Parse(c.BaseURL); err == nil && c.APIKeyEnv == "" {
		c.APIKeyEnv = keyVariables[base.Hostname()]
	}
	return c, c.check()
}

func (c Config) check() error {
	if c.APIKeyEnv != "" && !variableName.MatchString(c.APIKeyEnv) {
		return configError("api_key_env is not the name of an environment variable").
			WithHint("write the name alone, as OPENAI_API_KEY; if that was the key itself, take it out of the file, and renew it")
	}
	for _, header := range slices.Sorted(maps.Keys(c.Headers)) {
		if !variableName.MatchString(c.Headers[header]) {
			return configError("headers.%s is not the name of an environment variable", header).
				WithHint("put the header's value into an environment variable and write its name here")
		}
	}
	switch {
	case c.MaxTurns < 1:
		return configError("max_turns is %d, want at least 1", c.MaxTurns)
	case c.IdenticalTurns < 0 || c.IdenticalTurns == 1:
		return configError("identical_turns is %d, want 0 or at least 2", c.IdenticalTurns)
	case c.MaxOutputTokens < 0:
		return configError("max_output_tokens is %d, want at least 0", c.MaxOutputTokens)
	case c.ToolRetries < 0 || c.ToolRetries > 10:
		return configError("tool_retries is %d, want 0 to 10", c.ToolRetries)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Prices)) {
		if err := c.Prices[name].Check(name); err != nil {
			return err
		}
	}
	return nil
}

// networks parses the local networks. A network of all addresses is refused: it would make every service local.
func (c Config) networks() ([]netip.Prefix, error) {
	var found []netip.Prefix
	for _, text := range c.LocalNetworks {
		n, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, configError("local_networks: %q is not a network", text).WithHint("write it as 10.1.0.0/16, or 10.1.2.3/32 for one machine")
		}
		if n.Bits() == 0 {
			return nil, configError("local_networks: %q contains every address", text).WithHint("name the networks that are yours, or choose policy.mode open")
		}
		found = append(found, n.Masked())
	}
	return found, nil
}

func configError(format string, args ...any) *failure.Error {
	return failure.New(failure.ConfigInvalid, "config: "+format, args...)
}
