package main

import (
	"cmp"
	"io"

	"github.com/hashicorp/go-hclog"
)

// newLogger is the logger of the engine.
func newLogger(s settings, to io.Writer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name:              program,
		Level:             hclog.LevelFromString(s.LogLevel),
		Output:            to,
		JSONFormat:        s.LogFormat == "json",
		IndependentLevels: true,
	})
}

// newPluginLogger is the part of the engine's logger for what plugins write, with a level of its own.
func newPluginLogger(s settings, log hclog.Logger) hclog.Logger {
	log = log.Named("plugin")
	log.SetLevel(hclog.LevelFromString(cmp.Or(s.PluginLog, s.LogLevel)))
	return log
}
