package acp

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/nearest"
)

// Config is the configuration of a provider for one agent. config.schema.json describes the same keys.
type Config struct {
	// Command replaces the agent's known command line: a program's name, searched in PATH, or its absolute path, then its
	// arguments.
	Command []string `json:"command"`
	// Env is added to the agent's environment.
	Env map[string]string `json:"env"`
	// Mode is the agent's mode, one of the modes that it offers. Default: for codex the mode read-only, which
	// asks before changes; else the agent's own mode.
	Mode string `json:"mode"`
	// ConfigOptions are the agent's settings by their ids. A value is a text, true or false.
	ConfigOptions map[string]any `json:"config_options"`
	// Permissions is the handling of the agent's requests for permission: ask, allow or deny. Default "ask".
	Permissions string `json:"permissions"`
}

// AnyConfig is the configuration of provider acp, which drives any agent.
type AnyConfig struct {
	// Agent is the name of a known agent, "" for an agent given by its command line.
	Agent string `json:"agent"`
	Config
}

// Values of Permissions.
const (
	permissionAsk   = "ask"   // the kernel or the user decides
	permissionAllow = "allow" // requests are granted and reported
	permissionDeny  = "deny"  // requests are refused
)

var permissions = []string{permissionAsk, permissionAllow, permissionDeny}

// setup is a checked configuration with its agent.
type setup struct {
	Config
	profile
}

// readConfig decodes and checks a configuration of the provider. Errors are of kind config_invalid.
func (p *Provider) readConfig(raw json.RawMessage) (setup, error) {
	var cfg AnyConfig
	var into any = &cfg
	if p.profile != nil {
		into = &cfg.Config
	}
	if err := config.Decode(raw, into); err != nil {
		return setup{}, err
	}
	known, err := p.chooseProfile(cfg)
	if err != nil {
		return setup{}, err
	}
	s := setup{Config: cfg.Config, profile: known}
	s.Permissions, s.Mode = cmp.Or(s.Permissions, permissionAsk), cmp.Or(s.Mode, known.mode)
	if len(s.Command) > 0 {
		s.command = s.Command
	}
	return s, s.check()
}

// chooseProfile returns the profile of the configured agent.
func (p *Provider) chooseProfile(cfg AnyConfig) (profile, error) {
	if p.profile != nil {
		return *p.profile, nil
	}
	if cfg.Agent == "" && len(cfg.Command) == 0 {
		return profile{}, failure.New(failure.ConfigInvalid, "config: provider %s needs an agent or a command", name).
			WithHint("use provider %s; or set agent to one of %s, or command to the command line of another agent, in config.yaml under providers.%s.config",
				strings.Join(presetNames(), ", "), strings.Join(agentNames(), ", "), name)
	}
	if cfg.Agent == "" {
		return profile{title: cfg.Command[0]}, nil
	}
	known := findProfile(cfg.Agent)
	if known == nil {
		err := failure.New(failure.ConfigInvalid, "config: unknown agent %q", cfg.Agent)
		if near := nearest.Name(cfg.Agent, agentNames()); near != "" {
			return profile{}, err.WithHint("did you mean %q? Known agents are %s; for another one leave agent out and set command", near, strings.Join(agentNames(), ", "))
		}
		return profile{}, err.WithHint("known agents are %s; for another one leave agent out and set command", strings.Join(agentNames(), ", "))
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
			WithHint("write the program's name, or its absolute path, as the first item of the list")
	}
	for _, id := range slices.Sorted(maps.Keys(s.ConfigOptions)) {
		switch s.ConfigOptions[id].(type) {
		case string, bool:
		default:
			return failure.New(failure.ConfigInvalid, "config: config_options.%s is neither a text nor true or false", id).
				WithHint("use a text, or true or false for a switch")
		}
	}
	return nil
}

const name = "acp"

// Provider drives agents over the Agent Client Protocol. It is safe for concurrent use: each attempt is a process of its
// own.
type Provider struct {
	profile    *profile // nil for any agent
	environ    func() []string
	startLimit time.Duration
}

// defaultStartLimit is the time for an agent to become ready for the prompt, including an installation by npx.
const defaultStartLimit = 2 * time.Minute

// New returns the provider for the known agent with this name, or for any agent if the name is empty. environ returns
// the base of the agents' environment, usually os.Environ; each method of the provider calls it at most once.
func New(agent string, environ func() []string) *Provider {
	return &Provider{profile: findProfile(agent), environ: environ, startLimit: defaultStartLimit}
}

// presetNames returns the names of the providers for known agents.
func presetNames() []string {
	names := agentNames()
	for i, agent := range names {
		names[i] = name + "-" + agent
	}
	return names
}
