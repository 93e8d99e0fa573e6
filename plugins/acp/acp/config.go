package acp

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// Config is the configuration of a provider for one agent; config.schema.json says the same to others.
type Config struct {
	// Command is the agent's command line in place of the known one: a program's name, searched in PATH, or
	// its absolute path, then its arguments.
	Command []string `json:"command"`
	// Env is added to the agent's environment.
	Env map[string]string `json:"env"`
	// Mode is the agent's mode, one of those that it offers. Default: the one that asks before it changes
	// anything, where the agent is known, else the agent's own.
	Mode string `json:"mode"`
	// ConfigOptions are settings of the session by the agent's ids for them: texts, or true and false.
	ConfigOptions map[string]any `json:"config_options"`
	// Permissions says what becomes of the agent's requests. Default "ask".
	Permissions string `json:"permissions"`
}

// AnyConfig is the configuration of provider acp, which takes any agent.
type AnyConfig struct {
	// Agent is the word for a known agent, "" for one by its command line.
	Agent string `json:"agent"`
	Config
}

// What becomes of requests for permission.
const (
	permissionAsk   = "ask"   // the kernel decides, or a person
	permissionAllow = "allow" // they are allowed, and reported
	permissionDeny  = "deny"  // they are refused
)

var permissions = []string{permissionAsk, permissionAllow, permissionDeny}

// setup is a configuration that was checked, and the agent that it is for.
type setup struct {
	Config
	profile
}

// read checks a configuration of the provider. Errors are of kind config_invalid.
func (p *Provider) read(raw json.RawMessage) (setup, error) {
	var cfg AnyConfig
	var into any = &cfg
	if p.profile != nil {
		into = &cfg.Config
	}
	if err := config.Decode(raw, into); err != nil {
		return setup{}, err
	}
	known, err := p.choose(cfg)
	if err != nil {
		return setup{}, err
	}
	s := setup{Config: cfg.Config, profile: known}
	if s.Permissions == "" {
		s.Permissions = permissionAsk
	}
	if s.Mode == "" {
		s.Mode = known.mode
	}
	if len(s.Command) > 0 {
		s.command = s.Command
	}
	return s, s.check()
}

// choose finds what is known of the agent.
func (p *Provider) choose(cfg AnyConfig) (profile, error) {
	if p.profile != nil {
		return *p.profile, nil
	}
	if cfg.Agent == "" && len(cfg.Command) == 0 {
		return profile{}, failure.New(failure.ConfigInvalid, "config: provider %s needs an agent or a command", name).
			WithHint("use provider %s; or set agent to one of %s, or command to the command line of another agent, in config.yaml under providers.%s.config",
				strings.Join(presets(), ", "), strings.Join(agents(), ", "), name)
	}
	if cfg.Agent == "" {
		return profile{title: cfg.Command[0]}, nil
	}
	known := profileOf(cfg.Agent)
	if known == nil {
		err := failure.New(failure.ConfigInvalid, "config: unknown agent %q", cfg.Agent)
		if near := nearest.Name(cfg.Agent, agents()); near != "" {
			return profile{}, err.WithHint("did you mean %q? Known are %s; for another one set command", near, strings.Join(agents(), ", "))
		}
		return profile{}, err.WithHint("known are %s; for another one leave agent out and set command", strings.Join(agents(), ", "))
	}
	return *known, nil
}

func (s setup) check() error {
	if !slices.Contains(permissions, s.Permissions) {
		return failure.New(failure.ConfigInvalid, "config: unknown permissions %q", s.Permissions).
			WithHint("use one of %s", strings.Join(permissions, ", "))
	}
	if s.command[0] == "" {
		return failure.New(failure.ConfigInvalid, "config: command begins with an empty text").
			WithHint("write the program's name, or its whole path, as the first of the list")
	}
	for _, id := range slices.Sorted(maps.Keys(s.ConfigOptions)) {
		switch s.ConfigOptions[id].(type) {
		case string, bool:
		default:
			return failure.New(failure.ConfigInvalid, "config: config_options.%s is neither a text nor true or false", id).
				WithHint("agents offer texts to choose from, and switches")
		}
	}
	return nil
}
