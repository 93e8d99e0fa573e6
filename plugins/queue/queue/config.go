package queue

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/failure"
)

// Config holds the keys of a node's termination block that the strategy reads. It ignores other keys, because the
// kernel reads the same block and a node inherits the keys of its stage.
type Config struct {
	// Command prints one line for each remaining item. Default: bd ready --label=<Label>.
	Command Command `json:"command"`
	// Label is the label of the session's beads; the session's name replaces ${SESSION}. Default: BEADS_LABEL_PREFIX,
	// or "pipeline/", followed by the session's name.
	Label string `json:"label"`
	// Timeout limits one run of the command, in seconds. Default 60.
	Timeout float64 `json:"timeout"`
}

// Command is a program and its arguments. In JSON it may be a text, which sh -c runs.
type Command []string

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Command) UnmarshalJSON(raw []byte) error {
	var line string
	if json.Unmarshal(raw, &line) == nil {
		*c = nil
		if line != "" {
			*c = Command{"sh", "-c", line}
		}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(c))
}

const (
	defaultTimeout     = time.Minute
	defaultLabelPrefix = "pipeline/"
	envLabelPrefix     = "BEADS_LABEL_PREFIX"
)

// readConfig decodes and checks a configuration. Errors are of kind config_invalid.
func readConfig(raw json.RawMessage) (Config, error) {
	c := Config{Timeout: defaultTimeout.Seconds()}
	if len(bytes.TrimSpace(raw)) > 0 {
		if err := json.Unmarshal(raw, &c); err != nil {
			return Config{}, failure.New(failure.ConfigInvalid, "termination: %w", err).
				WithHint("set command to a text or a list of texts, label to a text, timeout to a number of seconds")
		}
	}
	switch {
	case !(c.Timeout > 0 && c.Timeout <= (24*time.Hour).Seconds() && c.timeout() > 0):
		return Config{}, failure.New(failure.ConfigInvalid, "termination: timeout is %g; it must be more than 0 and at most 86400 seconds", c.Timeout)
	case c.Command != nil && (len(c.Command) == 0 || c.Command[0] == ""):
		return Config{}, failure.New(failure.ConfigInvalid, "termination: command has no program")
	}
	return c, nil
}

func (c Config) timeout() time.Duration { return time.Duration(c.Timeout * float64(time.Second)) }

// program returns the program of the command.
func (c Config) program() string {
	if len(c.Command) == 0 {
		return beadsProgram
	}
	return c.Command[0]
}
