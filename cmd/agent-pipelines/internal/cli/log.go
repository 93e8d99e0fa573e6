package cli

import (
	"cmp"
	"encoding/json"
	"io"
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/plugin-sdk/redact"
)

// NewLogger returns the engine's logger, which redacts secrets.
func NewLogger(s GlobalFlags, to io.Writer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name:              Program,
		Level:             hclog.LevelFromString(s.LogLevel),
		Output:            &redactingWriter{to: to, redactor: redact.New(os.Environ()), json: s.LogFormat == "json"},
		JSONFormat:        s.LogFormat == "json",
		IndependentLevels: true,
	})
}

// redactingWriter is a writer that removes secrets from log entries. Each Write is one entry.
type redactingWriter struct {
	to       io.Writer
	redactor *redact.Redactor
	json     bool
}

// Write implements [io.Writer].
func (c *redactingWriter) Write(entry []byte) (int, error) {
	clean := entry
	if c.json {
		clean = renameFields(c.redactor.JSON(entry))
	} else if text := c.redactor.Text(string(entry)); text != string(entry) {
		clean = []byte(text)
	}
	if _, err := c.to.Write(clean); err != nil {
		return 0, err
	}
	return len(entry), nil
}

// renameFields returns a JSON entry with the field names that log collectors know: level, msg, time and logger instead of
// hclog's own.
func renameFields(entry []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(entry, &fields) != nil {
		return entry
	}
	for from, to := range map[string]string{"@level": "level", "@message": "msg", "@timestamp": "time", "@module": "logger", "@caller": "caller"} {
		value, present := fields[from]
		if _, taken := fields[to]; present && !taken {
			fields[to] = value
			delete(fields, from)
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return entry
	}
	return append(text, '\n')
}

// newPluginLogger returns the sublogger for the lines of plugins, with its own level.
func newPluginLogger(s GlobalFlags, log hclog.Logger) hclog.Logger {
	log = log.Named("plugin")
	log.SetLevel(hclog.LevelFromString(cmp.Or(s.PluginLog, s.LogLevel)))
	return log
}
