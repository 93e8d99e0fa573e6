package main

import (
	"io"

	"github.com/hashicorp/go-hclog"
)

// newLogger is the logger of the engine and its plugins.
func newLogger(s settings, to io.Writer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name:       program,
		Level:      hclog.LevelFromString(s.LogLevel),
		Output:     to,
		JSONFormat: s.LogFormat == "json",
	})
}
