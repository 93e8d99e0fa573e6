package environment

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/dodo-digital/agent-pipelines/engine/internal/settings"
	"github.com/dodo-digital/agent-pipelines/kernel/event"
	"github.com/dodo-digital/agent-pipelines/kernel/journal"
	"github.com/dodo-digital/agent-pipelines/kernel/plan"
	"github.com/dodo-digital/agent-pipelines/kernel/pluginhost"
	sdk "github.com/dodo-digital/agent-pipelines/plugin-sdk"
)

// ErrOptions means that options contradict each other or lack something.
var ErrOptions = errors.New("invalid options")

// Config is the configuration of an engine; the options of package engine document its fields.
type Config struct {
	// Config is the configuration of the plugin hosts. NewHost sets the fields that no option sets.
	pluginhost.Config
	EngineRoot       string
	Library          fs.FS
	Log              hclog.Logger
	Version          string
	Program          string
	ProviderOverride string
	DefaultProvider  string
	SkipDelays       bool
	SkipHooks        []string
	NoNotify         bool
	Traces           func(event.TraceID) bool
	Providers        []sdk.Provider
	Strategies       []sdk.Termination
	Actions          []sdk.HookAction
	// ProviderConfigs override the settings files.
	ProviderConfigs []settings.Provider
	HookErrors      plan.Fallback
	SandboxHelper   []string
}

// Journal returns the journal's options; variables of the user's environment may set two of these options
// (REQUIREMENTS U223). Values that are not positive numbers are ignored.
func (c *Config) Journal(log hclog.Logger) journal.Options {
	number := func(variable string) int {
		n, _ := strconv.Atoi(c.Variable(variable)) // 0 selects the default
		return max(n, 0)
	}
	return journal.Options{
		Logger: log, Buffer: number("AGENT_PIPELINES_EVENT_BUFFER"),
		FlushInterval: time.Duration(number("AGENT_PIPELINES_EVENT_FLUSH_MS")) * time.Millisecond,
	}
}

// Variable returns the value of a variable of the user's environment, "" if unset.
func (c *Config) Variable(name string) (value string) {
	for _, entry := range c.Environ {
		if n, v, _ := strings.Cut(entry, "="); n == name {
			value = v
		}
	}
	return value
}
