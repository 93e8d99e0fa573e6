package environ

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Mode is the word of a policy.
type Mode string

// Inherit passes everything on but what belongs to a handshake, Only the minimal variables and the
// ones named. The zero value asks for the component's default.
const (
	Inherit Mode = "inherit"
	Only    Mode = "minimal"
)

// Policy says what a plugin process gets. The zero value is the component's default.
type Policy struct {
	Mode Mode
	// Names are passed on besides the minimal ones; for Only alone.
	Names []string
}

// Parse reads the setting `env`: inherit, minimal, or a list of names. No words at all is the default.
func Parse(words []string) (Policy, error) {
	switch {
	case len(words) == 0:
		return Policy{}, nil
	case len(words) == 1 && (words[0] == string(Inherit) || words[0] == string(Only)):
		return Policy{Mode: Mode(words[0])}, nil
	}
	for _, w := range words {
		if w == "" || strings.ContainsAny(w, "=\x00 ") {
			return Policy{}, failure.New(failure.ConfigInvalid, "env: %q is no name of an environment variable", w).
				WithHint("write env: inherit, env: minimal, or a list of names such as [ANTHROPIC_API_KEY]")
		}
	}
	return Policy{Mode: Only, Names: slices.Clone(words)}, nil
}

// Minimal reports whether every process gets the variable: what programs need to run at all, and no
// secret. All of LC_* belongs to it.
func Minimal(name string) bool {
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

// Default is the policy of a component for which nobody says anything.
func Default(kind sdk.Kind, name string) Policy {
	if kind == sdk.KindProvider || runsCommands(name) {
		return Policy{Mode: Inherit}
	}
	return Policy{Mode: Only, Names: settingsOf(name)}
}

// settingsOf names the variables by which users have always set a component that gets little else: for
// the judge the Bash engine's (REQUIREMENTS U274, U296), for webhook those by which programs find the
// network. None is a secret.
func settingsOf(name string) []string {
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

// reference is how a configuration names a variable whose value it wants.
var reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// Named are the variables that a component's configuration asks for by name, sorted: NAME wherever a text
// says ${NAME}, and the texts of keys that end in _env. The configuration is JSON.
func Named(config json.RawMessage) []string {
	var tree any
	if json.Unmarshal(config, &tree) != nil {
		return nil // whoever reads it says what is wrong with it
	}
	var names []string
	collect("", tree, &names)
	slices.Sort(names)
	return slices.Compact(names)
}

func collect(key string, tree any, names *[]string) {
	switch value := tree.(type) {
	case string:
		if strings.HasSuffix(key, "_env") {
			*names = append(*names, value)
		}
		for _, m := range reference.FindAllStringSubmatch(value, -1) {
			*names = append(*names, m[1])
		}
	case []any:
		for _, item := range value {
			collect(key, item, names)
		}
	case map[string]any:
		for name, item := range value {
			collect(name, item, names)
		}
	}
}

// And is p with further names. One that passes everything on needs none.
func (p Policy) And(names []string) Policy {
	if p.Mode != Inherit {
		p.Names = slices.Concat(p.Names, names)
	}
	return p
}

// Within narrows p by what asked says and never widens it: names that p would not pass are dropped.
func (p Policy) Within(asked Policy) Policy {
	switch {
	case asked.Mode == "":
		return p
	case p.Mode == Inherit:
		return asked
	case asked.Mode == Inherit:
		return p
	}
	names := slices.DeleteFunc(slices.Clone(asked.Names), func(n string) bool { return !slices.Contains(p.Names, n) })
	return Policy{Mode: Only, Names: names}
}

// Build returns the entries of user ("NAME=value") that p passes on, sorted, the last of several
// entries with one name winning, and adds own, which wins over the user's.
func Build(user []string, p Policy, own map[string]string) []string {
	values := map[string]string{}
	for _, entry := range user {
		name, value, found := strings.Cut(entry, "=")
		if found && name != "" && p.passes(name) {
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

func (p Policy) passes(name string) bool {
	if handshake(name) {
		return false
	}
	return p.Mode == Inherit || Minimal(name) || slices.Contains(p.Names, name)
}

// handshake reports whether the variable belongs to go-plugin's handshake or to ours: passed on, it
// would make a process that an agent starts believe that it was started by a plugin host.
func handshake(name string) bool {
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

// Names are the names of the entries, sorted: what may be recorded, for values may be secrets.
func Names(env []string) []string {
	names := make([]string, 0, len(env))
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// String is the policy as it is written in a pipeline.
func (p Policy) String() string {
	if len(p.Names) > 0 {
		return fmt.Sprintf("[%s]", strings.Join(p.Names, ", "))
	}
	return string(p.Mode)
}
