package pluginhost

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/confine"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// EnvMode is the kind of an environment policy.
type EnvMode string

// EnvInherit passes on all variables except those of a handshake. EnvPublic passes on those without secrets
// ([redact.IsSecretVariable]), and the listed names; it is no setting. EnvMinimal passes on the variables of
// [IsMinimalEnv] and the listed names. The zero value means the component's default.
const (
	EnvInherit EnvMode = "inherit"
	EnvPublic  EnvMode = "public"
	EnvMinimal EnvMode = "minimal"
)

// EnvPolicy says which environment variables a plugin process gets. The zero value is the component's default.
type EnvPolicy struct {
	Mode EnvMode
	// Names are passed on besides the variables of the mode; EnvInherit needs none.
	Names []string
	// Adds lets [EnvPolicy.Narrow] add variables as well, because the user trusts the author of this policy.
	Adds bool
}

// ParseEnv reads the setting `env`: inherit, minimal, or a list of names. An empty list is the default.
func ParseEnv(words []string) (EnvPolicy, error) {
	switch {
	case len(words) == 0:
		return EnvPolicy{}, nil
	case len(words) == 1 && (words[0] == string(EnvInherit) || words[0] == string(EnvMinimal)):
		return EnvPolicy{Mode: EnvMode(words[0])}, nil
	}
	for _, w := range words {
		if err := sdk.CheckVariable(w); err != nil {
			return EnvPolicy{}, failure.New(failure.ConfigInvalid, "env: %w", err).
				WithHint("write env: inherit, env: minimal, or a list of names such as [ANTHROPIC_API_KEY]")
		}
	}
	return EnvPolicy{Mode: EnvMinimal, Names: slices.Clone(words)}, nil
}

// IsMinimalEnv reports whether every process gets the variable, because programs need it and it is not a secret. All
// variables LC_* are included.
func IsMinimalEnv(name string) bool {
	switch name {
	case "PATH", "HOME", "TMPDIR", "LANG", "TERM", "USER", "SHELL", "TZ":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

// DefaultEnv returns the policy of a component without any setting. A provider, and a shipped component that needs all
// variables, gets those without secrets. Other components get the minimal variables. A component that is shipped with this
// program also gets the variables that it needs, such as the keys of its service. Names of components do not count.
func DefaultEnv(c sdk.Component, shipped bool) EnvPolicy {
	var needed []string
	if shipped && c.Needs != nil {
		needed = slices.Clone(c.Needs.Environment)
	}
	switch {
	case slices.Contains(needed, sdk.AllVariables):
		return EnvPolicy{Mode: EnvPublic}
	case c.Kind == sdk.KindProvider:
		return EnvPolicy{Mode: EnvPublic, Names: needed}
	default:
		return EnvPolicy{Mode: EnvMinimal, Names: needed}
	}
}

// variableReference matches a reference to an environment variable in a configuration.
var variableReference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// ReferencedEnv returns the variables that a component's configuration names, sorted. They are NAME for each ${NAME} in a
// text, and the texts of keys that end in _env. The configuration is a JSON value, decoded or as [json.RawMessage].
func ReferencedEnv(config any) []string {
	var names []string
	collectReferences("", config, &names)
	slices.Sort(names)
	return slices.Compact(names)
}

func collectReferences(key string, tree any, names *[]string) {
	switch value := tree.(type) {
	case json.RawMessage:
		var decoded any
		_ = json.Unmarshal(value, &decoded) // its reader reports the error
		collectReferences(key, decoded, names)
	case string:
		if strings.HasSuffix(key, "_env") {
			*names = append(*names, value)
		}
		for _, m := range variableReference.FindAllStringSubmatch(value, -1) {
			*names = append(*names, m[1])
		}
	case []any:
		for _, item := range value {
			collectReferences(key, item, names)
		}
	case map[string]any:
		for name, item := range value {
			collectReferences(name, item, names)
		}
	}
}

// WithNames returns p with further names. A policy that inherits everything needs none.
func (p EnvPolicy) WithNames(names []string) EnvPolicy {
	if p.Mode != EnvInherit {
		p.Names = slices.Concat(p.Names, names)
	}
	return p
}

// Narrow restricts p by asked: names that p would not pass are dropped. It widens p only if asked may add variables.
func (p EnvPolicy) Narrow(asked EnvPolicy) EnvPolicy {
	switch {
	case asked.Mode == "":
		return p
	case p.Mode == EnvInherit, asked.Adds:
		return asked
	case asked.Mode == EnvInherit:
		return p
	}
	names := slices.DeleteFunc(slices.Clone(asked.Names), func(n string) bool { return !p.allows(n, "") })
	return EnvPolicy{Mode: EnvMinimal, Names: names}
}

// BuildEnv returns the entries of user ("NAME=value") that p passes on, sorted, and adds own, which overrides them. Of
// several entries with the same name the last entry counts.
func BuildEnv(user []string, p EnvPolicy, own map[string]string) []string {
	values := map[string]string{}
	for _, entry := range user {
		name, value, found := strings.Cut(entry, "=")
		if found && name != "" && p.allows(name, value) {
			values[name] = value
		}
	}
	maps.Copy(values, own)
	env := make([]string, 0, len(values))
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

func (p EnvPolicy) allows(name, value string) bool {
	switch {
	case isHandshakeVariable(name):
		return false
	case p.Mode == EnvInherit, slices.Contains(p.Names, name):
		return true
	case p.Mode == EnvPublic:
		return !redact.IsSecretVariable(name, value)
	default:
		return IsMinimalEnv(name)
	}
}

// withheld returns the names of the entries of user that p does not pass on because they are secrets, sorted. Only
// EnvPublic has such names.
func (p EnvPolicy) withheld(user []string) []string {
	return EnvNames(slices.DeleteFunc(slices.Clone(user), func(entry string) bool {
		name, value, _ := strings.Cut(entry, "=")
		return p.Mode != EnvPublic || p.allows(name, value) || isHandshakeVariable(name)
	}))
}

// isHandshakeVariable reports whether the variable belongs to the handshake of go-plugin or is set by this program for
// its processes. A process started by an agent must not inherit the variable, or it would take itself for a plugin.
func isHandshakeVariable(name string) bool {
	if strings.HasPrefix(name, "PLUGIN_") {
		return true
	}
	switch name {
	case "AGENT_PIPELINES_PLUGIN", "AGENT_PIPELINES_PLUGIN_COOKIE",
		"AGENT_PIPELINES_REATTACH", "AGENT_PIPELINES_RUN", "AGENT_PIPELINES_PROCESS", confine.ModeVariable, confine.ToolsVariable, confine.WriteVariable:
		return true
	}
	return false
}

// EnvNames returns the names of the entries, sorted, for records, since values may be secrets.
func EnvNames(env []string) []string {
	names := make([]string, 0, len(env))
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
