package script

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/config"
	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"

	"github.com/dodo-digital/agent-pipelines/plugins/hooks/internal/firing"
)

// Config holds the keys of a hook with action script: command or script, not both.
type Config struct {
	// Command is a text that sh -c runs.
	Command string `json:"command"`
	// Script is an executable file, absolute or relative to the project, and Args its arguments. No shell expands them.
	Script string   `json:"script"`
	Args   []string `json:"args"`
	// Env holds additional variables. Names that begin with AGENT_PIPELINES_ or PLUGIN_ are reserved.
	Env map[string]string `json:"env"`
}

// readConfig decodes and checks a configuration. Errors are of kind config_invalid.
func readConfig(raw json.RawMessage) (Config, error) {
	var c Config
	if err := config.Decode(raw, &c); err != nil {
		return Config{}, err
	}
	invalid := func(format string, args ...any) *failure.Error {
		return failure.New(failure.ConfigInvalid, "script: "+format, args...)
	}
	switch {
	case c.Command == "" && c.Script == "":
		return Config{}, invalid("command and script are missing").WithHint("set command: to a text for sh -c, or script: to an executable file of the project")
	case c.Command != "" && c.Script != "":
		return Config{}, invalid("command and script exclude each other").WithHint("remove one: command is a text for sh -c, script an executable file of the project")
	case c.Command != "" && c.Args != nil:
		return Config{}, invalid("args belong to script").WithHint("write the arguments into command")
	case strings.ContainsRune(c.Command+c.Script+strings.Join(c.Args, ""), 0):
		return Config{}, invalid("the command contains a zero byte")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"), strings.ContainsRune(c.Env[name], 0):
			return Config{}, invalid("env: %q is not an environment variable", name)
		case strings.HasPrefix(name, firing.VariablePrefix), strings.HasPrefix(name, "PLUGIN_"):
			return Config{}, invalid("env: %[2]s is reserved, as are all names that begin with %[1]s or PLUGIN_", firing.VariablePrefix, name)
		}
	}
	return c, nil
}
