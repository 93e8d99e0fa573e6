package pluginhost

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// EnvMode is the word of a policy.
type EnvMode string

// Inherit passes everything on but what belongs to a handshake, Only the minimal variables and the
// ones named. The zero value asks for the component's default.
const (
	EnvInherit EnvMode = "inherit"
	EnvMinimal EnvMode = "minimal"
)

// EnvPolicy says what a plugin process gets. The zero value is the component's default.
type EnvPolicy struct {
	Mode EnvMode
	// Names are passed on besides the minimal ones; for Only alone.
	Names []string
}

// ParseEnv reads the setting `env`: inherit, minimal, or a list of names. No words at all is the default.
func ParseEnv(words []string) (EnvPolicy, error) {
	switch {
	case len(words) == 0:
		return EnvPolicy{}, nil
	case len(words) == 1 && (words[0] == string(EnvInherit) || words[0] == string(EnvMinimal)):
		return EnvPolicy{Mode: EnvMode(words[0])}, nil
	}
	for _, w := range words {
		if w == "" || strings.ContainsAny(w, "=\x00 ") {
			return EnvPolicy{}, failure.New(failure.ConfigInvalid, "env: %q is no name of an environment variable", w).
				WithHint("write env: inherit, env: minimal, or a list of names such as [ANTHROPIC_API_KEY]")
		}
	}
	return EnvPolicy{Mode: EnvMinimal, Names: slices.Clone(words)}, nil
}

// IsMinimalEnv reports whether every process gets the variable: what programs need to run at all, and no
// secret. All of LC_* belongs to it.
func IsMinimalEnv(name string) bool {
	switch name {
	case "PATH", "HOME", "TMPDIR", "LANG", "TERM", "USER", "SHELL", "TZ":
		return true
	}
	return strings.HasPrefix(name, "LC_")
}

// runsCommands names the components that run the user's own commands and therefore need the user's
// toolchain and keys (DESIGN 6).
func runsCommands(name string) bool {
	return name == "script" || name == "check" || name == "queue"
}

// DefaultEnv is the policy of a component for which nobody says anything.
func DefaultEnv(kind sdk.Kind, name string) EnvPolicy {
	if kind == sdk.KindProvider || runsCommands(name) {
		return EnvPolicy{Mode: EnvInherit}
	}
	return EnvPolicy{Mode: EnvMinimal, Names: knownSettings(name)}
}

// knownSettings names the variables by which users have always set a component that gets little else: for
// the judge the Bash engine's (REQUIREMENTS U274, U296), for webhook those by which programs find the
// network. None is a secret.
func knownSettings(name string) []string {
	switch name {
	case "judge":
		return []string{
			"AGENT_PIPELINES_ROOT", "JUDGE_MODEL", "JUDGE_PROMPT_PATH", "JUDGE_PROVIDER", "MOCK_MODE", "PLATEAU_TEST_MODE", "XDG_CONFIG_HOME",
		}
	case "webhook":
		return []string{
			"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_DIR", "SSL_CERT_FILE", "http_proxy", "https_proxy", "no_proxy",
		}
	default:
		return nil
	}
}

// variableReference is how a configuration names a variable whose value it wants.
var variableReference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// ReferencedEnv are the variables that a component's configuration asks for by name, sorted: NAME wherever a text
// says ${NAME}, and the texts of keys that end in _env. The configuration is JSON.
func ReferencedEnv(config json.RawMessage) []string {
	var tree any
	if json.Unmarshal(config, &tree) != nil {
		return nil // whoever reads it says what is wrong with it
	}
	var names []string
	collectReferences("", tree, &names)
	slices.Sort(names)
	return slices.Compact(names)
}

func collectReferences(key string, tree any, names *[]string) {
	switch value := tree.(type) {
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

// WithNames is p with further names. One that passes everything on needs none.
func (p EnvPolicy) WithNames(names []string) EnvPolicy {
	if p.Mode != EnvInherit {
		p.Names = slices.Concat(p.Names, names)
	}
	return p
}

// Narrow narrows p by what asked says and never widens it: names that p would not pass are dropped.
func (p EnvPolicy) Narrow(asked EnvPolicy) EnvPolicy {
	switch {
	case asked.Mode == "":
		return p
	case p.Mode == EnvInherit:
		return asked
	case asked.Mode == EnvInherit:
		return p
	}
	names := slices.DeleteFunc(slices.Clone(asked.Names), func(n string) bool { return !slices.Contains(p.Names, n) })
	return EnvPolicy{Mode: EnvMinimal, Names: names}
}

// BuildEnv returns the entries of user ("NAME=value") that p passes on, sorted, the last of several
// entries with one name winning, and adds own, which wins over the user's.
func BuildEnv(user []string, p EnvPolicy, own map[string]string) []string {
	values := map[string]string{}
	for _, entry := range user {
		name, value, found := strings.Cut(entry, "=")
		if found && name != "" && p.allows(name) {
			values[name] = value
		}
	}
	for name, value := range own {
		values[name] = value
	}
	env := make([]string, 0, len(values))
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

func (p EnvPolicy) allows(name string) bool {
	if isHandshakeVariable(name) {
		return false
	}
	return p.Mode == EnvInherit || IsMinimalEnv(name) || slices.Contains(p.Names, name)
}

// isHandshakeVariable reports whether the variable belongs to go-plugin's handshake or to ours: passed on, it
// would make a process that an agent starts believe that it was started by a plugin host.
func isHandshakeVariable(name string) bool {
	if strings.HasPrefix(name, "PLUGIN_") {
		return true
	}
	switch name {
	case "AGENT_PIPELINES_PLUGIN", "AGENT_PIPELINES_PLUGIN_COOKIE",
		"AGENT_PIPELINES_REATTACH", "AGENT_PIPELINES_RUN", "AGENT_PIPELINES_PROCESS", "AGENT_PIPELINES_SANDBOX":
		return true
	}
	return false
}

// EnvNames are the names of the entries, sorted: what may be recorded, for values may be secrets.
func EnvNames(env []string) []string {
	names := make([]string, 0, len(env))
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// String is the policy as it is written in a pipeline.
func (p EnvPolicy) String() string {
	if len(p.Names) > 0 {
		return fmt.Sprintf("[%s]", strings.Join(p.Names, ", "))
	}
	return string(p.Mode)
}
