package cli

import (
	"cmp"
	"encoding/json"
	"io"
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// NewLogger is the logger of the engine.
func NewLogger(s GlobalFlags, to io.Writer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name:              Program,
		Level:             hclog.LevelFromString(s.LogLevel),
		Output:            &cleaned{to: to, redactor: redact.New(os.Environ()), json: s.LogFormat == "json"},
		JSONFormat:        s.LogFormat == "json",
		IndependentLevels: true,
	})
}

// cleaned is a log without secrets. The logger writes an entry at a time.
type cleaned struct {
	to       io.Writer
	redactor *redact.Redactor
	json     bool
}

// Write implements [io.Writer].
func (c *cleaned) Write(entry []byte) (int, error) {
	clean := entry
	if c.json {
		clean = Renamed(c.redactor.JSON(entry))
	} else if text := c.redactor.Text(string(entry)); text != string(entry) {
		clean = []byte(text)
	}
	if _, err := c.to.Write(clean); err != nil {
		return 0, err
	}
	return len(entry), nil
}

// Renamed is an entry in JSON with the names of fields that collectors of logs know: level, msg, time and logger in the place of
// hclog's own.
func Renamed(entry []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(entry, &fields) != nil {
		return entry
	}
	for was, is := range map[string]string{"@level": "level", "@message": "msg", "@timestamp": "time", "@module": "logger", "@caller": "caller"} {
		value, there := fields[was]
		if _, taken := fields[is]; there && !taken {
			fields[is] = value
			delete(fields, was)
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return entry
	}
	return append(text, '\n')
}

// newPluginLogger is the part of the engine's logger for what plugins write, with a level of its own.
func newPluginLogger(s GlobalFlags, log hclog.Logger) hclog.Logger {
	log = log.Named("plugin")
	log.SetLevel(hclog.LevelFromString(cmp.Or(s.PluginLog, s.LogLevel)))
	return log
}
